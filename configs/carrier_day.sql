-- Flights and arrival delay per carrier and day; the percentile is exact, interpolated.
SELECT
  month,
  date,
  carrier,
  count(*) AS flights,
  count(arr_delay) AS arrived,
  avg(arr_delay) AS mean_delay,
  percentile(arr_delay, 0.95) AS p95_delay
FROM ods.flights
GROUP BY month, date, carrier
