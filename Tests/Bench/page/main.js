// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The page of the figures, the same files in both windows. `config.js` and `parts/` are written by the script.
import { api, window as name } from './config.js'
import { rows } from './parts/index.js'
import './work.js'

const list = document.getElementById('list')
for (const row of rows) {
  const article = document.createElement('article')
  article.textContent = row
  list.append(article)
}

// Tells the server when the page had loaded: the time is taken here, so the way of the message does not count.
const loaded = () => {
  globalThis.loadedAt = Date.now()
  globalThis.nacre?.updates?.confirm().catch(() => {})
  fetch(`${api}/loaded?window=${name}&at=${globalThis.loadedAt}`, { cache: 'no-store' }).catch(() => {})
}
if (document.readyState === 'complete') loaded()
else addEventListener('load', loaded)
