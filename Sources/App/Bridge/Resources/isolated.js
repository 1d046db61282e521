// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// The bridge's own world, which shares the document with the page and nothing else: the message handler exists here only.
// Origin and frame are read here, where no script of the page can lie about them, and go with every message.
(() => {
  "use strict";
  const configuration = /*nacre:configuration*/ null;
  if (!configuration || window.top !== window) return;

  const handler = window.webkit.messageHandlers[configuration.handler];
  let channel = null;

  const deliver = (text) => document.dispatchEvent(new CustomEvent(channel + "-in", { detail: text }));

  /** A call the app does not take at all still settles. */
  const refuse = (text, error) => {
    const { callbackId, pluginId, methodName } = JSON.parse(text);
    const message = String(error?.message ?? error);
    deliver(
      JSON.stringify({
        callbackId, pluginId, methodName, save: false, success: false, error: { message, code: "UNAVAILABLE" },
      }),
    );
  };

  const forward = async (text) => {
    const envelope = `{"origin":${JSON.stringify(location.origin)},"top":${window.top === window},"message":${text}}`;
    try {
      const answer = await handler.postMessage(envelope);
      if (answer) deliver(answer);
    } catch (error) {
      refuse(text, error);
    }
  };

  const hello = (event) => {
    // The first greeting is the bridge's own: both scripts run before any of the page.
    document.removeEventListener("nacre-hello", hello);
    channel = event.detail;
    document.addEventListener(channel + "-out", (message) => void forward(message.detail));
    document.dispatchEvent(new CustomEvent(channel + "-ready"));
  };
  document.addEventListener("nacre-hello", hello);
  document.dispatchEvent(new CustomEvent("nacre-here"));

  globalThis[configuration.receiver] = (text) => {
    if (channel === null) throw new Error("The page has no bridge.");
    deliver(text);
  };
})();
