// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// A fake of the app's end of the bridge: `webkit.messageHandlers.nacre` as WebKit offers it.

window.native = {
  log: [],
  reports: [],
  answer: () => ({ success: true, data: {} }),
  calls: (plugin) => native.log.filter(({ message }) => message.pluginId === plugin),
  event: (result) => nacreReceive(JSON.stringify(result)),
};
window.webkit = {
  messageHandlers: {
    nacre: {
      postMessage: async (text) => {
        if (typeof text !== "string") throw new Error("A message to the bridge is a string of JSON.");
        const envelope = JSON.parse(text);
        const { message } = envelope;
        if (message.type === "js.error") {
          native.reports.push(message);
          return "";
        }
        native.log.push({ envelope, message });
        if (native.refuses) return JSON.stringify({ refused: native.refuses });
        // Calls with a callback have their results as events.
        if (["addListener", "removeListener"].includes(message.methodName) || message.pluginId === "Files") return "";
        const { callbackId, pluginId, methodName } = message;
        return JSON.stringify({ callbackId, pluginId, methodName, save: false, ...(await native.answer(message)) });
      },
    },
  },
};
