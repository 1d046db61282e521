// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// What is measured inside the page. Each function answers milliseconds, or calls per second.

globalThis.bench = {
  /** One large body, read to its end as it arrives. */
  async download(url, bytes) {
    const start = performance.now()
    const response = await fetch(url, { cache: 'no-store' })
    if (!response.ok) throw new Error(`${url} answered ${response.status}`)
    const reader = response.body.getReader()
    let seen = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      seen += value.length
    }
    if (seen !== bytes) throw new Error(`${seen} bytes of ${bytes}`)
    return performance.now() - start
  },

  /** One large body of parts that the engine holds once, sent and counted by the server. */
  async upload(url, bytes) {
    const part = new Blob([crypto.getRandomValues(new Uint8Array(50_000)), new Uint8Array(950_000)])
    const body = new Blob(Array.from({ length: bytes / part.size }, () => part))
    const start = performance.now()
    const response = await fetch(url, { method: 'POST', body })
    const seen = (await response.json()).bytes
    if (seen !== bytes) throw new Error(`${seen} bytes of ${bytes} arrived`)
    return performance.now() - start
  },

  /** The middle of the times from asking to the head of the answer, one small request after the other. */
  async firstByte(url, count) {
    const times = []
    for (let i = 0; i < count; i += 1) {
      const start = performance.now()
      const response = await fetch(url, { cache: 'no-store' })
      times.push(performance.now() - start)
      await response.arrayBuffer()
    }
    return times.sort((a, b) => a - b)[count >> 1]
  },

  /** A sound opened and sought in, each place waited for. */
  async seek(url, places) {
    const audio = new Audio()
    const event = (name) => new Promise((resolve, reject) => {
      audio.addEventListener(name, resolve, { once: true })
      audio.addEventListener('error', () => reject(new Error(`audio: ${audio.error?.message}`)), { once: true })
    })
    audio.preload = 'metadata'
    audio.src = url
    await event('loadedmetadata')
    for (const place of places) {
      audio.currentTime = place
      await event('seeked')
      if (Math.abs(audio.currentTime - place) > 2) throw new Error(`sought ${place}, got ${audio.currentTime}`)
    }
    return places.length
  },

  /** Many small answers asked for at once, each read and checked. */
  async small(base, count) {
    const start = performance.now()
    const answers = await Promise.all(Array.from({ length: count }, async (_, i) => {
      const response = await fetch(`${base}${i}.json`, { cache: 'no-store' })
      return (await response.json()).number
    }))
    const time = performance.now() - start
    answers.forEach((number, i) => { if (number !== i) throw new Error(`answer ${number} to request ${i}`) })
    return time
  },

  /** Round trips one after the other for `seconds`: per second. */
  async oneByOne(call, seconds) {
    const start = performance.now()
    let count = 0
    while (performance.now() - start < seconds * 1000) {
      await call()
      count += 1
    }
    return count / (performance.now() - start) * 1000
  },

  /** `count` round trips at once: per second. */
  async atOnce(call, count) {
    const start = performance.now()
    await Promise.all(Array.from({ length: count }, () => call()))
    return count / (performance.now() - start) * 1000
  }
}
