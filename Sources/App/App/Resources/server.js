// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

const words = {
  en: {
    title: "Choose a server", intro: "Which server do you work with? Ask whoever runs it if you do not know.",
    label: "Server address", hint: "For example https://server.example.org", connect: "Connect", connecting: "Connecting…",
    back: (origin) => `Stay with ${origin}`, account: (name) => `Back to ${name}`, empty: "Type the address of your server.",
  },
  fr: {
    title: "Choisir un serveur", intro: "Avec quel serveur travaillez-vous ? Demandez-le à qui l’administre si vous ne le savez pas.",
    label: "Adresse du serveur", hint: "Par exemple https://serveur.example.org", connect: "Se connecter", connecting: "Connexion…",
    back: (origin) => `Rester avec ${origin}`, account: (name) => `Revenir à ${name}`, empty: "Saisissez l’adresse de votre serveur.",
    "server.address": "Ce n’est pas l’adresse d’un serveur ; elle ressemble à https://serveur.example.org.",
    "server.cleartext": "Une adresse en http peut être lue en chemin ; utilisez une adresse en https.",
    "server.unreachable": "Ce serveur ne répond pas. Vérifiez l’adresse et la connexion de cet appareil.",
    "server.certificate": "Le certificat de ce serveur n’est pas accepté ; la connexion n’est pas sûre et n’a pas été utilisée.",
    "server.proxy": "Le proxy du système ne peut pas être utilisé ; vérifiez les réglages réseau.",
    "server.moved": ({ target }) => `Ce serveur renvoie vers ${target}. Si c’est le vôtre, saisissez cette adresse.`,
    "server.unwell": "Ce serveur ne peut pas travailler pour le moment ; réessayez plus tard.",
    "server.foreign": "Quelque chose répond à cette adresse, mais ce n’est pas un serveur de cette application.",
    "server.not_kept": "Le choix n’a pas pu être enregistré ; le disque est-il plein ?",
  },
};
const language = navigator.language.toLowerCase().startsWith("fr") ? "fr" : "en";
const text = words[language];
const { server, accounts } = nacre;
const at = (id) => document.getElementById(id);
const address = at("address");

document.documentElement.lang = language;
document.title = `${server.app} – ${text.title}`;
at("name").textContent = server.app;
for (const id of ["intro", "label", "hint", "connect"]) at(id).textContent = text[id];
address.value = server.proposal ?? "";
address.select();
// An account that nobody has used yet has no server to stay with: another account's is only proposed.
if (server.known && (accounts?.current?.used ?? true)) {
  at("back").hidden = false;
  at("back").textContent = text.back(server.proposal);
}
for (const { id, name, email, used } of accounts?.list ?? []) {
  if (!used || id === accounts.current?.id) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = text.account(`\u2068${name ?? email ?? id}\u2069`);
  button.addEventListener("click", () => attempt(() => accounts.switch(id)));
  document.querySelector("form").append(button);
}

const busy = (value) => {
  for (const button of document.querySelectorAll("button")) button.disabled = value;
  at("connect").textContent = value ? text.connecting : text.connect;
};
const refuse = (message) => {
  busy(false);
  at("fault").textContent = message;
  at("fault").hidden = !message;
  address.setAttribute("aria-invalid", String(!!message));
  if (message) address.focus();
};
const attempt = async (ask) => {
  refuse("");
  busy(true);
  try {
    const answer = await ask();
    const said = text[answer.code] ?? answer.message;
    if (answer.outcome === "refused") refuse(typeof said === "function" ? said(answer) : said);
  } catch (error) {
    refuse(error.message);
  }
};

document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (at("connect").disabled) return;
  if (!address.value.trim()) refuse(text.empty);
  else attempt(() => server.choose(address.value));
});
at("back").addEventListener("click", () => attempt(() => server.keep()));
