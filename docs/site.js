// The script of the theme makes these elements: give wide tables a place in the order of the Tab key, so that the
// keyboard scrolls them, and give the buttons of each block of code a name of their own.
document$.subscribe(() => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((one, at) => {
    one.tabIndex = 0
    one.setAttribute("role", "region")
    one.setAttribute("aria-label", `Table ${at + 1}`)
  })
  document.querySelectorAll(".md-code__nav").forEach((one, at) => one.setAttribute("aria-label", `Code ${at + 1}`))
})
