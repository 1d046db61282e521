// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
//
// What the server's own page does before the app's scripts: the settings of the signed-in person. The scripts under
// react-app/ are the ones that the server ships, as they are.

const api = nacre.api.origin;

/** A JSON value that stands in the server's page beside its name. */
const standing = (page, name, fallback) => {
  const found = new RegExp(`^\\s*${name}: (.*),\\s*$`, "m").exec(page);
  try { return JSON.parse(found[1]); } catch { return fallback; }
};

const start = async () => {
  const [user, page] = await Promise.all([
    fetch(`${api}/api/current-user/whoami`).then((answer) => answer.ok ? answer.json() : Promise.reject(answer.status)),
    fetch(`${api}/projects/`).then((answer) => answer.text()),
  ]);
  window.exports = () => {};
  window.APP_SETTINGS = {
    user: { ...user, firstName: user.first_name, lastName: user.last_name, customHotkeys: {} },
    lookupHotkey: () => null,
    debug: false, polling: false, hostname: api,
    version: standing(page, "version", {}),
    editor_keymap: {},
    feature_flags: standing(page, "feature_flags", {}),
    feature_flags_default_value: standing(page, "feature_flags_default_value", true),
    version_edition: "Community", server_id: "", collect_analytics: false,
    data_manager: { max_users_to_display: 10 },
    page_title: "Annotate", flags: { allow_organization_webhooks: false, storage_persistence: true },
  };
  for (const name of ["runtime", "vendor", "main"]) {
    const script = Object.assign(document.createElement("script"), { src: `/react-app/${name}.js`, async: false });
    document.body.append(script);
  }
};

const place = document.querySelector("#sign-in");
const settle = () => {
  const { state } = nacre.session.current;
  place.hidden = state !== "signedOut";
  if (state === "signedIn" && !window.APP_SETTINGS) start().catch((error) => { document.title = `failed: ${error}`; });
};
place.querySelector("button").addEventListener("click", () => nacre.session.signIn());
nacre.session.addEventListener("change", settle);
settle();
