// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// A classic script in <head>, so that it runs before first paint (SH-5). The shell sets the same marks itself, with the
// native insets; this is for a plain browser.
(() => {
  "use strict";
  const root = document.documentElement;
  root.dataset.js = "";
  if (window.nacre) return;
  root.dataset.platform = "browser";
  const follow = (query, name) => {
    const match = window.matchMedia(query);
    const apply = () => root.toggleAttribute(`data-${name}`, match.matches);
    match.addEventListener("change", apply);
    apply();
  };
  follow("(max-width: 639.98px)", "phone");
  follow("(hover: none) and (pointer: coarse)", "touch");
})();
