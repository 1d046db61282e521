// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The app's one message table, and the language the person chose (kept across restarts, SE-6).

import { I18n } from "../shared/i18n.js";
import { languages, strings } from "./strings.js";

const storageKey = "messages.language";

export const i18n = new I18n(strings, languages);
export const t = (key, values) => i18n.t(key, values);
export const m = (key, values) => i18n.m(key, values);

function stored() {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null; // storage may be refused; the browser's language decides then
  }
}

/** The chosen language, else the profile's, else the browser's. */
export function settleLanguage(profile) {
  const language = i18n.pick(stored(), profile?.language, navigator.languages ?? []);
  if (language !== i18n.language || !document.documentElement.lang) i18n.use(language);
  document.documentElement.lang = i18n.language;
}

export function chooseLanguage(language) {
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // the choice then lasts until the app is closed
  }
  i18n.use(language);
}
