// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// The bridge's own world, which shares the document with the page and nothing else: the message handler exists here only.
// Origin and frame are read here, where no script of the page can lie about them, and go with every message.
(() => {
  "use strict";
  const configuration = /*nacre:configuration*/ null;
  // A window that the page has opened has no bridge: the bridge is bound to the page of the app's own window.
  if (!configuration || window.top !== window || window.opener) return;

  const handler = window.webkit.messageHandlers[configuration.handler];
  // Says which document speaks; the app asks its own window for the same word, since WebKit gives these scripts to
  // windows without an opener too, and does not tell from which window a message comes.
  const identity = crypto.randomUUID();
  let channel = null;

  const deliver = (text) => document.dispatchEvent(new CustomEvent(channel + "-in", { detail: text }));

  /** A call the app does not take at all still settles. */
  const refuse = (text, { code = "UNAVAILABLE", message }) => {
    const { callbackId, pluginId, methodName } = JSON.parse(text);
    deliver(
      JSON.stringify({ callbackId, pluginId, methodName, save: false, success: false, error: { message, code } }),
    );
  };

  const forward = async (text) => {
    const envelope =
      `{"origin":${JSON.stringify(location.origin)},"top":${window.top === window},"document":"${identity}","message":${text}}`;
    try {
      const answer = await handler.postMessage(envelope);
      if (answer?.startsWith('{"refused":')) refuse(text, JSON.parse(answer).refused);
      else if (answer) deliver(answer);
    } catch (error) {
      refuse(text, { message: String(error?.message ?? error) });
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

  globalThis[configuration.receiver + "Identity"] = identity;
  globalThis[configuration.receiver] = (text) => {
    if (channel === null) throw new Error("The page has no bridge.");
    deliver(text);
  };
})();
