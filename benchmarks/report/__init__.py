"""One report of all benchmarks (``make bench``).

``libraries`` starts a process for each library: ``java_process``, and ``library_process`` with the scripts of
``sides`` in an environment of its own. ``rounds`` measures all shapes, ``engines`` keys and merge engines beside
Java, ``curves`` the growth of costs, ``longevity`` one table over many rounds. ``cells`` has figures and spreads,
``marks`` what should be reached, ``charts`` and ``page`` the pictures and the page. ``__main__`` has the arguments.
"""
