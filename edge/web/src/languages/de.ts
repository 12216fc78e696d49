/** German, with the informal address that WordPress and Discourse have. */

import type { LoadedLanguage } from '../text/locale.ts';
import { numbersIn } from '../text/numbers.ts';

const { count, plural } = numbersIn<'one' | 'other'>('de');

export const language: LoadedLanguage = {
  tag: 'de',
  text: {
    title: (n) => plural(n, { one: '# Kommentar', other: '# Kommentare' }),
    titleNone: 'Kommentare',
    sortLabel: 'Kommentare sortieren',
    moreSorts: 'Weitere',
    hot: 'Angesagt',
    new: 'Neueste',
    old: 'Älteste',
    top: 'Beliebt',
    best: 'Bestbewertet',
    replies: 'Meiste Antworten',
    controversial: 'Umstritten',
    loading: 'Kommentare werden geladen …',
    empty: 'Schreib den ersten Kommentar.',
    loadMore: 'Weitere Kommentare laden',
    loadFailed: 'Die Kommentare konnten nicht geladen werden.',
    tryAgain: 'Erneut versuchen',
    stale: 'Du siehst eine gespeicherte Kopie; der Kommentarserver ist gerade nicht erreichbar.',
    closed: 'Die Kommentare sind geschlossen.',
    hiddenSubject: 'Die Kommentare dieser Seite sind ausgeblendet.',
    write: 'Kommentar schreiben',
    writeReply: (name) => `Auf ${name} antworten`,
    editComment: 'Kommentar bearbeiten',
    placeholder: 'Diskutiere mit …',
    yourName: 'Dein Name',
    namePlaceholder: 'So sehen dich andere',
    postingAs: (name) => `Du schreibst als ${name}`,
    change: 'ändern',
    changeName: 'Name ändern',
    yourAccount: 'Dein Konto',
    signIn: 'Anmelden',
    notifications: (unread) =>
      unread === 0
        ? 'Benachrichtigungen'
        : plural(unread, {
            one: '# ungelesene Benachrichtigung',
            other: '# ungelesene Benachrichtigungen',
          }),
    post: 'Veröffentlichen',
    reply: 'Antworten',
    save: 'Speichern',
    retry: 'Erneut senden',
    cancel: 'Abbrechen',
    sending: 'Wird gesendet …',
    counter: (left) => (left < 0 ? `${count(-left)} zu viel` : `noch ${count(left)}`),
    needText: 'Schreib zuerst etwas.',
    needName: 'Gib bitte zuerst einen Namen ein.',
    tooLong: (most) => `Ein Kommentar darf höchstens ${count(most)} Zeichen haben.`,
    retrying: (seconds, attempt, most) =>
      `Ergebnis unbekannt; ein neuer Versuch ist sicher. Nächster Versuch in ${count(seconds)} s (${count(attempt)} von ${count(most)}) …`,
    addPicture: 'Bild hinzufügen',
    uploading: (name) => `${name} wird hochgeladen`,
    removePicture: (name) => `${name} entfernen`,
    tooManyPictures: (most) => `Ein Kommentar darf höchstens ${count(most)} Bilder haben.`,
    noPicture: 'Nur Bilder in JPEG, PNG, GIF und WebP sind möglich.',
    pictureTooLarge: 'Ein Bild darf höchstens 5 MB groß sein.',
    stillUploading: 'Ein Bild wird noch hochgeladen.',
    solving: 'Einen Moment: Es wird geprüft, dass du kein Roboter bist …',
    confirmHuman: 'Bitte bestätige, dass du kein Roboter bist.',
    keptText: 'Dein Text bleibt hier erhalten.',
    retryIn: (seconds) => `Versuch es bitte in ${count(seconds)} s noch einmal.`,
    posted: 'Dein Kommentar ist veröffentlicht.',
    saved: 'Deine Änderung ist gespeichert.',
    held: 'Dein Kommentar wartet auf Freischaltung.',
    review: 'Wartet auf Freischaltung · nur du siehst das',
    rejected: 'Nicht freigeschaltet · nur du siehst das',
    selfOnly: 'Nur du siehst das',
    masked: (n) =>
      plural(n, {
        one: '# Stelle wurde verdeckt · nur du siehst diesen Hinweis',
        other: '# Stellen wurden verdeckt · nur du siehst diesen Hinweis',
      }),
    deleted: 'Dieser Kommentar wurde gelöscht',
    deletedNow: 'Dein Kommentar wurde gelöscht.',
    deletedAuthor: 'Gelöscht',
    anonymous: 'Gast',
    like: 'Gefällt mir',
    dislike: 'Gefällt mir nicht',
    edit: 'Bearbeiten',
    delete: 'Löschen',
    confirmDelete: 'Diesen Kommentar löschen?',
    nameToReact: 'Wähle einen Namen, um zu reagieren',
    continue: 'Weiter',
    replyingTo: 'Antwort an',
    floor: (n) => `#${count(n)}`,
    storey: (n) => `Etage ${count(n)}`,
    level: (n) => `Lv ${count(n)}`,
    levelLabel: (n) => `Stufe ${count(n)}`,
    guest: 'Gast',
    guestLabel: 'Hat hier kein Konto',
    roles: { moderator: 'Moderator', admin: 'Admin' },
    pinned: 'Angepinnt',
    featured: 'Ausgewählt',
    edited: 'bearbeitet',
    showReplies: (n) =>
      plural(n, { one: '# Antwort anzeigen', other: 'Alle # Antworten anzeigen' }),
    moreReplies: 'Weitere Antworten anzeigen',
    repliesLoaded: (n) =>
      plural(n, { one: '# weitere Antwort angezeigt.', other: '# weitere Antworten angezeigt.' }),
    commentsLoaded: (n) =>
      plural(n, {
        one: '# weiterer Kommentar angezeigt.',
        other: '# weitere Kommentare angezeigt.',
      }),
    build: 'Antworten',
    showFloors: (n) => plural(n, { one: '# Etage', other: '# Etagen' }),
    conversation: (n) => plural(n, { one: 'Gespräch, # Etage', other: 'Gespräch, # Etagen' }),
    gap: (n, step) =>
      n > step
        ? `noch ${count(n)} Etagen · ${count(step)} davon anzeigen`
        : plural(n, {
            one: 'noch # Etage · ganzes Haus anzeigen',
            other: 'noch # Etagen · ganzes Haus anzeigen',
          }),
    floorsShown: (n) =>
      plural(n, { one: '# weitere Etage angezeigt.', other: '# weitere Etagen angezeigt.' }),
    actOnFloor: (n, name) =>
      `Etage ${count(n)}, von ${name}: Gefällt mir, antworten, Link kopieren`,
    copyLink: 'Link kopieren',
    linkCopied: 'Link kopiert',
    wholeText: 'Ganzen Text anzeigen',
    foldText: 'Einklappen',
    showInList: 'In der Liste zeigen',
    close: 'Schließen',
    merged: 'Was du hier als Gast geschrieben und markiert hast, gehört jetzt dir.',
    linked: 'Verlinkter Kommentar',
    linkGone: 'Der verlinkte Kommentar wurde nicht gefunden.',
    newComments: (n) =>
      plural(n, { one: '# neuen Kommentar anzeigen', other: '# neue Kommentare anzeigen' }),
    reload: 'Die Kommentare haben sich geändert. Neu anzeigen',
    now: 'gerade eben',
    contentRejected: (categories) =>
      `Dein Kommentar enthält Wörter, die hier nicht erlaubt sind${categories ? ` (Kategorien: ${categories})` : ''}.`,
    siteNotAllowed: (site) =>
      `Der Kommentarserver nimmt keine Kommentare von ${site} an. Wer diese Website betreibt, kann sie dort unter GAILOU_SITES eintragen.`,
    errors: {
      network: 'Der Kommentarserver hat nicht geantwortet.',
      invalid_request: 'Etwas an der Anfrage stimmt nicht.',
      bad_cursor: 'Diese Liste hat sich geändert. Bitte lade sie neu.',
      token_missing: 'Bitte melde dich zuerst an.',
      token_invalid: 'Deine Anmeldung ist abgelaufen. Bitte melde dich neu an.',
      guest_expired: 'Dein Gastname ist abgelaufen. Bitte gib ihn neu ein.',
      forbidden: 'Das darfst du nicht.',
      muted: 'Du kannst hier zurzeit nicht kommentieren.',
      level_too_low: 'Deine Stufe reicht hier noch nicht zum Kommentieren.',
      guests_not_allowed:
        'Gäste können hier nicht kommentieren. Bitte melde dich auf dieser Website an.',
      challenge_required:
        'Es ließ sich nicht prüfen, dass du kein Roboter bist. Bitte versuch es noch einmal.',
      unknown_subject_type: 'Für diese Seite sind keine Kommentare eingerichtet.',
      comment_not_found: 'Diesen Kommentar gibt es nicht mehr.',
      parent_not_found: 'Den Kommentar, auf den du antwortest, gibt es nicht mehr.',
      subject_closed: 'Die Kommentare sind geschlossen.',
      edit_window_over: 'Ein Kommentar lässt sich nur 15 Minuten lang bearbeiten.',
      cursor_expired: 'Diese Liste hat sich geändert. Bitte lade sie neu.',
      body_too_large: 'Dieser Text ist zu lang.',
      idempotency_mismatch:
        'Das wurde schon mit einem anderen Text gesendet. Bitte sende es noch einmal.',
      rate_limited: 'Das geht etwas zu schnell.',
      internal: 'Auf dem Kommentarserver ist ein Fehler aufgetreten.',
      unavailable:
        'Der Kommentarserver ist gerade nicht verfügbar. Ergebnis unbekannt; ein neuer Versuch ist sicher.',
      overloaded:
        'Der Kommentarserver ist stark ausgelastet. Ergebnis unbekannt; ein neuer Versuch ist sicher.',
      origin_unreachable:
        'Der Kommentarserver ist gerade nicht erreichbar. Ergebnis unbekannt; ein neuer Versuch ist sicher.',
    },
  },
  account: {
    close: 'Schließen',
    signInWith: (name) => `Mit ${name} anmelden`,
    windowBlocked:
      'Der Browser hat das Fenster blockiert. Erlaube es für diese Seite und versuch es noch einmal.',
    yourEmail: 'Deine E-Mail-Adresse',
    mailLink: 'Link per E-Mail senden',
    linkSent:
      'Ein Link ist unterwegs zu dir. Öffne ihn innerhalb von 15 Minuten in diesem Browser.',
    signOut: 'Abmelden',
    forgetGuest: 'In diesem Browser vergessen',
    mailMe: (address) => `E-Mails an ${address}`,
    mailLanguage: 'Sprache der E-Mails',
    frequencies: { each: 'Bei jeder Antwort', daily: 'Einmal am Tag', never: 'Nie' },
    downloadData: 'Meine Daten herunterladen',
    eraseAll: 'Alles löschen …',
    confirmErase:
      'Deine Kommentare, Reaktionen und dein Name werden hier gelöscht. Das lässt sich nicht rückgängig machen.',
    eraseForGood: 'Alles endgültig löschen',
    erased:
      'Alles von dir wird gelöscht. In wenigen Sekunden ist es von allen Seiten verschwunden.',
    notificationsTitle: 'Benachrichtigungen',
    noNotifications: 'Noch nichts. Hier erfährst du von Antworten und Erwähnungen.',
    loadOlder: 'Ältere anzeigen',
    notified: {
      reply: (name) => `${name} hat dir geantwortet`,
      mention: (name) => `${name} hat dich erwähnt`,
    },
    decided: 'Ein Moderator hat über deinen Kommentar entschieden',
    gone: 'Dieser Kommentar wird nicht mehr angezeigt.',
  },
  keys: {
    title: 'Tasten in den Kommentaren',
    close: 'Schließen',
    keys: {
      j: 'Nächster Kommentar',
      k: 'Voriger Kommentar',
      u: 'Der Kommentar, auf den geantwortet wird',
      r: 'Antworten',
      l: 'Gefällt mir',
      o: 'Aufklappen',
      '← →': 'Die Knöpfe eines Kommentars',
      '?': 'Diese Hilfe',
    },
  },
  widgets: {
    latestComments: 'Neueste Kommentare',
    noComments: 'Noch keine Kommentare.',
  },
};
