// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// LK-6: every text of the app, both languages side by side. French spacing: \u202f before ; ! ? and \u00a0 before : and
// inside « ».

import { composeStrings } from "./strings-compose.js";
import { fileStrings } from "./strings-files.js";

export const languages = ["en", "fr"];
export const languageNames = { en: "English", fr: "Français" };

export const strings = {
  ...composeStrings,
  ...fileStrings,

  "app.name": { en: "Messages", fr: "Messages" },
  "app.what": {
    en: "Your organisation’s mail, calm and quick, on every device.",
    fr: "La messagerie de votre organisation, simple et rapide, sur tous vos appareils.",
  },
  "app.skip": { en: "Skip to the messages", fr: "Aller aux messages" },
  "app.opening": { en: "Opening Messages…", fr: "Ouverture de Messages…" },
  "app.language": { en: "Language", fr: "Langue" },
  "app.close": { en: "Close", fr: "Fermer" },
  "app.cancel": { en: "Cancel", fr: "Annuler" },
  "app.retry": { en: "Try again", fr: "Réessayer" },
  "app.undo": { en: "Undo", fr: "Annuler" },
  "app.dismiss": { en: "Dismiss", fr: "Masquer" },

  "signin.button": { en: "Sign in", fr: "Se connecter" },
  "signin.how": {
    en: "Your browser opens for a moment, then brings you back here.",
    fr: "Votre navigateur s’ouvre un instant, puis vous ramène ici.",
  },
  "signin.cancelled": {
    en: "Sign-in was cancelled. Nothing has changed.",
    fr: "La connexion a été annulée. Rien n’a changé.",
  },
  "signin.signedout": { en: "You are signed out.", fr: "Votre session est fermée." },
  "signin.shared": {
    en: "You are signed out here, but your browser may still be signed in. On a shared computer, sign out there too.",
    fr: "Votre session est fermée ici, mais elle est peut-être encore ouverte dans votre navigateur. Sur un ordinateur partagé, fermez-la aussi là-bas.",
  },
  "signin.opening": { en: "Finish in your browser", fr: "Terminez dans votre navigateur" },
  "signin.opening.text": {
    en: "We opened the sign-in page in your browser. Once you have signed in, this window continues by itself.",
    fr: "La page de connexion est ouverte dans votre navigateur. Dès que la connexion est établie, cette fenêtre reprend d’elle-même.",
  },
  "signin.waiting": { en: "Waiting for your browser", fr: "En attente de votre navigateur" },
  "signin.reopen": { en: "Open the browser again", fr: "Rouvrir le navigateur" },
  "signin.failed": { en: "Sign-in did not work", fr: "La connexion a échoué" },
  "signin.failed.network": {
    en: "The mail server could not be reached. Check your connection, then try again.",
    fr: "Le serveur de messagerie est injoignable. Vérifiez votre connexion, puis réessayez.",
  },
  "signin.failed.timeout": {
    en: "The sign-in page stayed open for too long. Start again and finish within 15 minutes.",
    fr: "La page de connexion est restée ouverte trop longtemps. Recommencez et terminez dans les 15 minutes.",
  },
  "signin.failed.refused": {
    en: "The sign-in service did not accept this sign-in. Try again, with another account if need be, or ask your administrator for access.",
    fr: "Le service de connexion n’a pas accepté cette tentative. Réessayez, au besoin avec un autre compte, ou demandez l’accès à votre administrateur.",
  },
  "signin.failed.limit": {
    en: "Too many attempts in a short time. Wait one minute, then try again.",
    fr: "Trop de tentatives en peu de temps. Attendez une minute, puis réessayez.",
  },
  "signin.failed.browser": {
    en: "No web browser could be opened. Choose a default browser in your system’s settings, then try again.",
    fr: "Aucun navigateur n’a pu être ouvert. Choisissez un navigateur par défaut dans les réglages du système, puis réessayez.",
  },
  "signin.failed.store": {
    en: "Your sign-in could not be saved on this device. Free some space or unlock your keyring, then try again.",
    fr: "Votre connexion n’a pas pu être enregistrée sur cet appareil. Libérez de l’espace ou déverrouillez votre trousseau, puis réessayez.",
  },
  "signin.failed.other": {
    en: "Something went wrong on the way back from your browser. Try again; if it keeps happening, give your administrator the code below.",
    fr: "Un problème est survenu au retour du navigateur. Réessayez\u202f; si cela se reproduit, transmettez le code ci-dessous à votre administrateur.",
  },
  "signin.code": { en: "Code: {code}", fr: "Code\u00a0: {code}" },
  "signin.expired": { en: "Sign in again", fr: "Reconnectez-vous" },
  "signin.expired.text": {
    en: "Your session has ended. Sign in again to continue where you left off.",
    fr: "Votre session est terminée. Reconnectez-vous pour reprendre là où vous en étiez.",
  },
  "signin.revoked": { en: "You were signed out", fr: "Votre session a été fermée" },
  "signin.revoked.text": {
    en: "This session was closed from another device or by your administrator. Sign in again to continue.",
    fr: "Elle l’a été depuis un autre appareil ou par votre administrateur. Reconnectez-vous pour continuer.",
  },
  "signin.again": { en: "Sign in again", fr: "Se reconnecter" },
  "signin.continue": { en: "Continue as {name}", fr: "Continuer en tant que {name}" },

  "locked.title": { en: "Your keyring is locked", fr: "Votre trousseau est verrouillé" },
  "locked.text": {
    en: "You are still signed in. Messages keeps your session in the system’s keyring and needs it unlocked to fetch your mail.",
    fr: "Votre session est toujours ouverte. Messages la conserve dans le trousseau du système, qui doit être déverrouillé pour relever votre courrier.",
  },
  "locked.retry": { en: "Unlock", fr: "Déverrouiller" },

  "offline.banner": {
    en: "The mail server can’t be reached. You are still signed in; what is on screen may be out of date.",
    fr: "Le serveur de messagerie est injoignable. Votre session reste ouverte\u202f; l’affichage n’est peut-être pas à jour.",
  },
  "offline.banner.short": { en: "Offline. You are still signed in.", fr: "Hors ligne. Votre session reste ouverte." },
  "offline.title": { en: "You’re offline", fr: "Vous êtes hors ligne" },
  "offline.text": {
    en: "This page will fill itself as soon as the mail server answers.",
    fr: "Cette page se remplira dès que le serveur de messagerie répondra.",
  },
  "offline.thread": {
    en: "This conversation has not been opened on this device yet. It will appear as soon as the mail server answers.",
    fr: "Cette conversation n’a pas encore été ouverte sur cet appareil. Elle s’affichera dès que le serveur de messagerie répondra.",
  },
  "offline.back": { en: "Back online.", fr: "De nouveau en ligne." },

  "folder.list": { en: "Folders", fr: "Dossiers" },
  "folder.inbox": { en: "Inbox", fr: "Boîte de réception" },
  "folder.inbox.tab": { en: "Inbox", fr: "Réception" },
  "folder.starred": { en: "Starred", fr: "Favoris" },
  "folder.drafts": { en: "Drafts", fr: "Brouillons" },
  "folder.sent": { en: "Sent", fr: "Envoyés" },
  "folder.more": { en: "More", fr: "Plus" },
  "folder.drafts.count": {
    en: "{n, plural, =0 {No drafts} one {# draft} other {# drafts}}",
    fr: "{n, plural, =0 {Aucun brouillon} one {# brouillon} other {# brouillons}}",
  },
  "folder.archive": { en: "Archive", fr: "Archives" },
  "folder.trash": { en: "Trash", fr: "Corbeille" },
  "folder.unread": { en: "{n, plural, one {# unread} other {# unread}}", fr: "{n, plural, one {# non lue} other {# non lues}}" },
  "folder.total": {
    en: "{n, plural, =0 {No conversations} one {# conversation} other {# conversations}}",
    fr: "{n, plural, =0 {Aucune conversation} one {# conversation} other {# conversations}}",
  },

  "list.name": { en: "Conversations", fr: "Conversations" },
  "list.loading": { en: "Loading conversations…", fr: "Chargement des conversations…" },
  "list.refresh": { en: "Check for new mail", fr: "Relever le courrier" },
  "list.unread": { en: "Unread", fr: "Non lue" },
  "list.attachments": { en: "With attachments", fr: "Avec pièces jointes" },
  "list.count": { en: "{n, plural, one {# message} other {# messages}}", fr: "{n, plural, one {# message} other {# messages}}" },
  "list.me": { en: "Me", fr: "Moi" },
  "list.nosubject": { en: "(no subject)", fr: "(sans objet)" },
  "list.nosender": { en: "(unknown sender)", fr: "(expéditeur inconnu)" },
  "list.nobody": { en: "(no recipient)", fr: "(sans destinataire)" },
  "list.draft": { en: "Draft", fr: "Brouillon" },
  "list.error": { en: "The list could not be loaded", fr: "La liste n’a pas pu être chargée" },
  "list.error.text": {
    en: "The mail server answered with an error. Try again in a moment.",
    fr: "Le serveur de messagerie a répondu par une erreur. Réessayez dans un instant.",
  },
  "empty.inbox": { en: "All caught up", fr: "Vous êtes à jour" },
  "empty.inbox.text": {
    en: "New messages will appear here as they arrive.",
    fr: "Les nouveaux messages apparaîtront ici dès leur arrivée.",
  },
  "empty.starred": { en: "Nothing starred", fr: "Aucun favori" },
  "empty.starred.text": {
    en: "Star a conversation to find it here again.",
    fr: "Ajoutez une conversation aux favoris pour la retrouver ici.",
  },
  "empty.drafts": { en: "No drafts", fr: "Aucun brouillon" },
  "empty.drafts.text": {
    en: "What you begin to write is kept here until you send it.",
    fr: "Ce que vous commencez à écrire est conservé ici jusqu’à l’envoi.",
  },
  "empty.sent": { en: "Nothing sent yet", fr: "Aucun message envoyé" },
  "empty.sent.text": { en: "Conversations you write in will be found here.", fr: "Les conversations auxquelles vous participez se trouveront ici." },
  "empty.archive": { en: "The archive is empty", fr: "Les archives sont vides" },
  "empty.archive.text": {
    en: "Archive what you are done with: it leaves the inbox and stays searchable.",
    fr: "Archivez ce qui est traité\u00a0: la conversation quitte la boîte de réception et reste consultable.",
  },
  "empty.trash": { en: "The trash is empty", fr: "La corbeille est vide" },
  "empty.trash.text": {
    en: "Conversations you delete stay here, so you can take them back.",
    fr: "Les conversations supprimées restent ici\u202f; vous pouvez les récupérer.",
  },
  "empty.search": { en: "No results", fr: "Aucun résultat" },
  "empty.search.text": {
    en: "Nothing in {folder} matches “{query}”.",
    fr: "Aucune conversation ne correspond à «\u00a0{query}\u00a0» dans le dossier {folder}.",
  },
  "empty.search.clear": { en: "Clear the search", fr: "Effacer la recherche" },

  "search.label": { en: "Search in {folder}", fr: "Rechercher dans le dossier {folder}" },
  "search.placeholder": { en: "Search", fr: "Rechercher" },
  "search.clear": { en: "Clear the search", fr: "Effacer la recherche" },
  "search.results": {
    en: "{n, plural, =0 {No results} one {# result} other {# results}}",
    fr: "{n, plural, =0 {Aucun résultat} one {# résultat} other {# résultats}}",
  },

  "thread.name": { en: "Conversation", fr: "Conversation" },
  "thread.none": { en: "No conversation selected", fr: "Aucune conversation sélectionnée" },
  "thread.none.text": {
    en: "Choose one from the list, or press {key} for the keyboard shortcuts.",
    fr: "Choisissez-en une dans la liste, ou appuyez sur {key} pour les raccourcis clavier.",
  },
  "thread.loading": { en: "Loading the conversation…", fr: "Chargement de la conversation…" },
  "thread.error": { en: "The conversation could not be opened", fr: "La conversation n’a pas pu être ouverte" },
  "thread.error.text": {
    en: "The mail server answered with an error. Try again in a moment.",
    fr: "Le serveur de messagerie a répondu par une erreur. Réessayez dans un instant.",
  },
  "thread.gone": { en: "This conversation is no longer there", fr: "Cette conversation n’existe plus" },
  "thread.gone.text": {
    en: "It may have been deleted on another device.",
    fr: "Elle a peut-être été supprimée depuis un autre appareil.",
  },
  "thread.back": { en: "Back to the list", fr: "Retour à la liste" },
  "thread.archive": { en: "Archive", fr: "Archiver" },
  "thread.restore": { en: "Move to the inbox", fr: "Remettre dans la boîte de réception" },
  "thread.trash": { en: "Move to the trash", fr: "Mettre à la corbeille" },
  "thread.star": { en: "Star", fr: "Ajouter aux favoris" },
  "thread.unstar": { en: "Remove the star", fr: "Retirer des favoris" },
  "thread.unread": { en: "Mark as unread", fr: "Marquer comme non lue" },
  "thread.print": { en: "Print", fr: "Imprimer" },
  "thread.print.one": { en: "Print this message", fr: "Imprimer ce message" },
  "thread.eml": { en: "Save as a file (.eml)", fr: "Enregistrer dans un fichier (.eml)" },
  "thread.reply": { en: "Reply", fr: "Répondre" },
  "thread.reply.to": { en: "Reply to {name}", fr: "Répondre à {name}" },
  "thread.replyall": { en: "Reply to all", fr: "Répondre à tous" },
  "thread.forward": { en: "Forward", fr: "Transférer" },
  "thread.answer": { en: "Answer", fr: "Répondre" },
  "thread.more": { en: "More about the message from {name}", fr: "Autres actions pour le message de {name}" },
  "thread.more.short": { en: "More", fr: "Plus" },
  "thread.actions": { en: "Actions", fr: "Actions" },
  "thread.to": { en: "to {names}", fr: "à {names}" },
  "thread.tocc": { en: "to {names}, copy to {copies}", fr: "à {names}, copie à {copies}" },
  "thread.me": { en: "me", fr: "moi" },
  "thread.body": { en: "Message from {name}", fr: "Message de {name}" },
  "thread.expand": { en: "Show the message from {name}", fr: "Afficher le message de {name}" },
  "thread.collapse": { en: "Fold the message from {name}", fr: "Replier le message de {name}" },
  "thread.earlier": {
    en: "{n, plural, one {# earlier message} other {# earlier messages}}",
    fr: "{n, plural, one {# message plus ancien} other {# messages plus anciens}}",
  },
  "thread.quote": { en: "Show quoted text", fr: "Afficher le texte cité" },
  "thread.unquote": { en: "Hide quoted text", fr: "Masquer le texte cité" },
  "thread.empty": { en: "This message has no text.", fr: "Ce message ne contient pas de texte." },
  "thread.remote": {
    en: "Remote images are hidden to protect your privacy.",
    fr: "Les images distantes sont masquées pour protéger votre vie privée.",
  },
  "thread.remote.offline": {
    en: "You’re offline: the images cannot be fetched now.",
    fr: "Vous êtes hors ligne\u00a0: les images ne peuvent pas être chargées pour l’instant.",
  },
  "thread.remote.failed": {
    en: "The mail server did not accept this. Try again in a moment.",
    fr: "Le serveur de messagerie n’a pas accepté cette demande. Réessayez dans un instant.",
  },
  "thread.remote.show": { en: "Show images", fr: "Afficher les images" },
  "thread.attachments": {
    en: "{n, plural, one {# attachment} other {# attachments}}",
    fr: "{n, plural, one {# pièce jointe} other {# pièces jointes}}",
  },
  "thread.download": { en: "Save {name}, {size}", fr: "Enregistrer {name}, {size}" },
  "thread.unnamed": { en: "Unnamed file", fr: "Fichier sans nom" },

  "done.archive": { en: "“{subject}” archived.", fr: "Conversation «\u00a0{subject}\u00a0» archivée." },
  "done.trash": { en: "“{subject}” moved to the trash.", fr: "Conversation «\u00a0{subject}\u00a0» mise à la corbeille." },
  "done.inbox": { en: "“{subject}” moved to the inbox.", fr: "Conversation «\u00a0{subject}\u00a0» remise dans la boîte de réception." },
  "done.unstar": { en: "Star removed from “{subject}”.", fr: "Conversation «\u00a0{subject}\u00a0» retirée des favoris." },
  "done.unread": { en: "“{subject}” marked as unread.", fr: "Conversation «\u00a0{subject}\u00a0» marquée comme non lue." },
  "done.undone": { en: "Undone.", fr: "Action annulée." },
  "done.failed": {
    en: "The change to “{subject}” was not saved and has been taken back.",
    fr: "La modification de «\u00a0{subject}\u00a0» n’a pas été enregistrée et a été annulée.",
  },
  "done.failed.offline": {
    en: "You’re offline: the change to “{subject}” has been taken back.",
    fr: "Vous êtes hors ligne\u00a0: la modification de «\u00a0{subject}\u00a0» a été annulée.",
  },

  "account.menu": { en: "Account of {name}", fr: "Compte de {name}" },
  "account.title": { en: "Account", fr: "Compte" },
  "account.unknown": { en: "Signed in", fr: "Session ouverte" },
  "account.cached": { en: "Offline", fr: "Hors ligne" },
  "account.help": { en: "Keyboard shortcuts", fr: "Raccourcis clavier" },
  "account.signout": { en: "Sign out", fr: "Se déconnecter" },
  "account.memory": {
    en: "No keyring was found: you will have to sign in again after closing Messages.",
    fr: "Aucun trousseau n’a été trouvé\u00a0: il faudra vous reconnecter après avoir fermé Messages.",
  },
  "account.passphrase": {
    en: "Your session is kept in a file protected by your passphrase.",
    fr: "Votre session est conservée dans un fichier protégé par votre phrase secrète.",
  },
  "accounts.list": { en: "Accounts", fr: "Comptes" },
  "accounts.others": { en: "Other accounts on this device", fr: "Autres comptes sur cet appareil" },
  "accounts.add": { en: "Add another account", fr: "Ajouter un autre compte" },
  "accounts.new": { en: "New account", fr: "Nouveau compte" },
  "accounts.out": { en: "Signed out", fr: "Session fermée" },
  "accounts.many": {
    en: "There are as many accounts here as Messages can keep. Remove one first.",
    fr: "Messages ne peut pas garder plus de comptes. Supprimez-en un d’abord.",
  },
  "accounts.failed": {
    en: "The account could not be changed. Try again.",
    fr: "Le changement de compte n’a pas abouti. Réessayez.",
  },
  "version.app": { en: "Version {version}", fr: "Version {version}" },
  "version.web": { en: "Web interface {version}", fr: "Interface web {version}" },
  "version.copy": { en: "Copy the version report", fr: "Copier le rapport de version" },
  "version.copied": { en: "Version report copied: {report}", fr: "Rapport de version copié\u00a0: {report}" },
  "version.notcopied": { en: "Copying was refused. The report: {report}", fr: "La copie a été refusée. Le rapport\u00a0: {report}" },

  "update.ready": { en: "A new version is ready", fr: "Une nouvelle version est prête" },
  "update.take": { en: "Update", fr: "Mettre à jour" },
  "update.taking": { en: "Updating…", fr: "Mise à jour…" },
  "update.held": {
    en: "The new version waits until the sign-in has ended.",
    fr: "La nouvelle version attend la fin de la connexion.",
  },
  "update.nottaken": {
    en: "The new version could not be shown. It will be there when you next open Messages.",
    fr: "La nouvelle version n’a pas pu être affichée. Elle sera là à la prochaine ouverture de Messages.",
  },
  "update.failed": {
    en: "Version {version} did not start on this device, so the one before is shown. Nothing was lost.",
    fr: "La version {version} n’a pas démarré sur cet appareil\u00a0: la précédente est affichée. Rien n’a été perdu.",
  },

  "signout.title": { en: "Sign out of Messages?", fr: "Se déconnecter de Messages\u202f?" },
  "signout.text": {
    en: "{email} will be signed out on this device.",
    fr: "La session de {email} sera fermée sur cet appareil.",
  },
  "signout.shared": {
    en: "The session you share with your browser ends as well: other apps that use it will ask you to sign in again.",
    fr: "La session partagée avec votre navigateur prend fin elle aussi\u00a0: les autres applications qui l’utilisent vous demanderont de vous reconnecter.",
  },
  "signout.stay": { en: "Stay signed in", fr: "Garder ma session" },
  "signout.failed": {
    en: "Signing out did not work. Try again.",
    fr: "La déconnexion a échoué. Réessayez.",
  },

  "help.title": { en: "Keyboard shortcuts", fr: "Raccourcis clavier" },
  "help.move": { en: "Move around", fr: "Se déplacer" },
  "help.act": { en: "Act on a conversation", fr: "Agir sur une conversation" },
  "help.write": { en: "Write", fr: "Écrire" },
  "help.control": { en: "Ctrl", fr: "Ctrl" },
  "help.files": { en: "Other attachment, in the preview", fr: "Autre pièce jointe, dans l’aperçu" },
  "help.other": { en: "Everywhere", fr: "Partout" },
  "help.next": { en: "Next conversation", fr: "Conversation suivante" },
  "help.previous": { en: "Previous conversation", fr: "Conversation précédente" },
  "help.open": { en: "Open the conversation", fr: "Ouvrir la conversation" },
  "help.close": { en: "Back, close, clear", fr: "Retour, fermer, effacer" },
  "help.search": { en: "Search", fr: "Rechercher" },
  "help.help": { en: "These shortcuts", fr: "Ces raccourcis" },
  "help.folders": { en: "Go to a folder", fr: "Aller à un dossier" },
  "help.enter": { en: "Enter", fr: "Entrée" },
  "help.escape": { en: "Esc", fr: "Échap" },
  "help.or": { en: "or", fr: "ou" },
  "help.to": { en: "to", fr: "à" },
};
