// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// One file on its way to the server: how far it is, and a way to stop it. The browser streams it from disk (NB-6).

import { ApiError, failure } from "./api.js";

/** Sends `file` to a draft, to stand at `position` among its files. `onProgress(0…1)`. Resolves to the attachment as the server has it. */
export async function uploadFile(api, draft, file, { position, onProgress, signal }) {
  const { url, headers } = await api.uploadTarget(draft, file, position);
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable && event.total > 0) onProgress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      let body = null;
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // not our server's words; the status says enough
      }
      if (request.status >= 200 && request.status < 300 && body !== null) resolve(body);
      else reject(failure(request.status, body));
    });
    // A file that was moved or changed since it was chosen ends here, too: the browser does not tell the two apart.
    request.addEventListener("error", () => reject(new ApiError("offline")));
    request.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}
