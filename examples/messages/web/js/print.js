// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Printing (NB-11): the conversation as it is open, or one message of it. The style sheet leaves out everything else.

/** `article`: the one message to print, or null for the conversation. */
export function printThread(reader, article) {
  const root = document.documentElement;
  const end = () => {
    window.removeEventListener("afterprint", end);
    root.removeAttribute("data-print-one");
    article?.classList.remove("printing");
  };
  window.addEventListener("afterprint", end);
  if (article) {
    root.setAttribute("data-print-one", "");
    article.classList.add("printing");
  }
  window.print();
}
