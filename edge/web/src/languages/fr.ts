/** French, with the formal address that Disqus, WordPress and Discourse have. */

import type { LoadedLanguage } from '../text/locale.ts';
import { numbersIn } from '../text/numbers.ts';

const { count, plural } = numbersIn<'one' | 'many' | 'other'>('fr');

export const language: LoadedLanguage = {
  tag: 'fr',
  text: {
    title: (n) =>
      plural(n, { one: '# commentaire', many: '# de commentaires', other: '# commentaires' }),
    titleNone: 'Commentaires',
    sortLabel: 'Trier les commentaires',
    moreSorts: 'Autres tris',
    hot: 'Tendances',
    new: 'Récents',
    old: 'Anciens',
    top: 'Populaires',
    best: 'Mieux notés',
    replies: 'Plus de réponses',
    controversial: 'Controversés',
    loading: 'Chargement des commentaires…',
    empty: 'Soyez le premier à commenter.',
    loadMore: 'Charger plus de commentaires',
    loadFailed: 'Les commentaires n’ont pas pu être chargés.',
    tryAgain: 'Réessayer',
    stale:
      'Vous voyez une copie enregistrée ; le serveur de commentaires est injoignable pour le moment.',
    closed: 'Les commentaires sont fermés.',
    hiddenSubject: 'Les commentaires de cette page sont masqués.',
    write: 'Écrire un commentaire',
    writeReply: (name) => `Répondre à ${name}`,
    editComment: 'Modifier votre commentaire',
    placeholder: 'Participez à la discussion…',
    yourName: 'Votre nom',
    namePlaceholder: 'Le nom que verront les autres',
    postingAs: (name) => `Vous écrivez en tant que ${name}`,
    change: 'changer',
    changeName: 'Changer de nom',
    yourAccount: 'Votre compte',
    signIn: 'Se connecter',
    notifications: (unread) =>
      unread === 0
        ? 'Notifications'
        : plural(unread, {
            one: '# notification non lue',
            many: '# de notifications non lues',
            other: '# notifications non lues',
          }),
    post: 'Publier',
    reply: 'Répondre',
    save: 'Enregistrer',
    retry: 'Renvoyer',
    cancel: 'Annuler',
    sending: 'Envoi…',
    counter: (left) =>
      left < 0
        ? `${count(-left)} de trop`
        : plural(left, { one: '# restant', many: '# restants', other: '# restants' }),
    needText: 'Écrivez d’abord quelque chose.',
    needName: 'Indiquez d’abord un nom.',
    tooLong: (most) => `Un commentaire peut avoir ${count(most)} caractères au plus.`,
    retrying: (seconds, attempt, most) =>
      `Résultat inconnu ; réessayer est sans risque. Nouvel essai dans ${count(seconds)} s (${count(attempt)} sur ${count(most)})…`,
    addPicture: 'Ajouter une image',
    uploading: (name) => `Envoi de ${name}`,
    removePicture: (name) => `Retirer ${name}`,
    tooManyPictures: (most) => `Un commentaire peut avoir ${count(most)} images au plus.`,
    noPicture: 'Seules les images JPEG, PNG, GIF et WebP sont acceptées.',
    pictureTooLarge: 'Une image peut peser 5 Mo au plus.',
    stillUploading: 'Une image est encore en cours d’envoi.',
    solving: 'Un instant : nous vérifions que vous n’êtes pas un robot…',
    confirmHuman: 'Confirmez que vous n’êtes pas un robot.',
    keptText: 'Votre texte est conservé ici.',
    retryIn: (seconds) => `Réessayez dans ${count(seconds)} s.`,
    posted: 'Votre commentaire est publié.',
    saved: 'Votre modification est enregistrée.',
    held: 'Votre commentaire est en attente de modération.',
    review: 'En attente de modération · visible de vous seul',
    rejected: 'Non publié · visible de vous seul',
    selfOnly: 'Visible de vous seul',
    masked: (n) =>
      plural(n, {
        one: '# passage a été masqué · vous seul voyez cette note',
        many: '# de passages ont été masqués · vous seul voyez cette note',
        other: '# passages ont été masqués · vous seul voyez cette note',
      }),
    deleted: 'Ce commentaire a été supprimé',
    deletedNow: 'Votre commentaire a été supprimé.',
    deletedAuthor: 'Supprimé',
    anonymous: 'Invité',
    like: 'J’aime',
    dislike: 'Je n’aime pas',
    edit: 'Modifier',
    delete: 'Supprimer',
    confirmDelete: 'Supprimer ce commentaire ?',
    nameToReact: 'Choisissez un nom pour réagir',
    continue: 'Continuer',
    replyingTo: 'en réponse à',
    floor: (n) => `nº ${count(n)}`,
    storey: (n) => `Étage ${count(n)}`,
    level: (n) => `Niv. ${count(n)}`,
    levelLabel: (n) => `Niveau ${count(n)}`,
    guest: 'Invité',
    guestLabel: 'N’a pas de compte ici',
    roles: { moderator: 'Modérateur', admin: 'Admin' },
    pinned: 'Épinglé',
    featured: 'Sélection',
    edited: 'modifié',
    showReplies: (n) =>
      plural(n, {
        one: 'Afficher # réponse',
        many: 'Afficher les # de réponses',
        other: 'Afficher les # réponses',
      }),
    moreReplies: 'Afficher plus de réponses',
    repliesLoaded: (n) =>
      plural(n, {
        one: '# réponse de plus affichée.',
        many: '# de réponses de plus affichées.',
        other: '# réponses de plus affichées.',
      }),
    commentsLoaded: (n) =>
      plural(n, {
        one: '# commentaire de plus affiché.',
        many: '# de commentaires de plus affichés.',
        other: '# commentaires de plus affichés.',
      }),
    build: 'Répondre',
    showFloors: (n) => plural(n, { one: '# étage', many: '# d’étages', other: '# étages' }),
    conversation: (n) =>
      plural(n, {
        one: 'conversation, # étage',
        many: 'conversation, # d’étages',
        other: 'conversation, # étages',
      }),
    gap: (n, step) =>
      n > step
        ? `encore ${count(n)} étages · en afficher ${count(step)}`
        : plural(n, {
            one: 'encore # étage · afficher tout l’immeuble',
            many: 'encore # d’étages · afficher tout l’immeuble',
            other: 'encore # étages · afficher tout l’immeuble',
          }),
    floorsShown: (n) =>
      plural(n, {
        one: '# étage de plus affiché.',
        many: '# d’étages de plus affichés.',
        other: '# étages de plus affichés.',
      }),
    actOnFloor: (n, name) => `étage ${count(n)}, de ${name} : aimer, répondre, copier le lien`,
    copyLink: 'Copier le lien',
    linkCopied: 'Lien copié',
    wholeText: 'Afficher tout le texte',
    foldText: 'Replier',
    showInList: 'Voir dans la liste',
    close: 'Fermer',
    merged: 'Ce que vous avez écrit et aimé ici en tant qu’invité est désormais à vous.',
    linked: 'Commentaire en lien',
    linkGone: 'Le commentaire en lien est introuvable.',
    newComments: (n) =>
      plural(n, {
        one: 'Afficher # nouveau commentaire',
        many: 'Afficher # de nouveaux commentaires',
        other: 'Afficher # nouveaux commentaires',
      }),
    reload: 'Les commentaires ont changé. Les afficher à nouveau',
    now: 'à l’instant',
    contentRejected: (categories) =>
      `Votre commentaire contient des mots qui ne sont pas autorisés ici${categories ? ` (catégories : ${categories})` : ''}.`,
    siteNotAllowed: (site) =>
      `Le serveur de commentaires n’accepte pas les commentaires de ${site}. Le responsable de ce site peut l’ajouter à GAILOU_SITES sur le serveur.`,
    errors: {
      network: 'Le serveur de commentaires n’a pas répondu.',
      invalid_request: 'Quelque chose ne va pas dans la demande.',
      bad_cursor: 'Cette liste a changé. Veuillez la recharger.',
      token_missing: 'Connectez-vous d’abord.',
      token_invalid: 'Votre connexion a expiré. Veuillez vous reconnecter.',
      guest_expired: 'Votre nom d’invité a expiré. Veuillez le saisir à nouveau.',
      forbidden: 'Vous n’avez pas le droit de faire cela.',
      muted: 'Vous ne pouvez pas commenter ici pour le moment.',
      level_too_low: 'Votre niveau ne permet pas encore de commenter ici.',
      guests_not_allowed:
        'Les invités ne peuvent pas commenter ici. Veuillez vous connecter sur ce site.',
      challenge_required:
        'Impossible de vérifier que vous n’êtes pas un robot. Veuillez réessayer.',
      unknown_subject_type: 'Les commentaires ne sont pas activés pour cette page.',
      comment_not_found: 'Ce commentaire n’existe plus.',
      parent_not_found: 'Le commentaire auquel vous répondez n’existe plus.',
      subject_closed: 'Les commentaires sont fermés.',
      edit_window_over: 'Un commentaire ne peut être modifié que pendant 15 minutes.',
      cursor_expired: 'Cette liste a changé. Veuillez la recharger.',
      body_too_large: 'Ce texte est trop long.',
      idempotency_mismatch:
        'Ceci a déjà été envoyé avec un autre texte. Veuillez l’envoyer encore une fois.',
      rate_limited: 'Vous allez un peu vite.',
      internal: 'Une erreur est survenue sur le serveur de commentaires.',
      unavailable:
        'Le serveur de commentaires est indisponible pour le moment. Résultat inconnu ; réessayer est sans risque.',
      overloaded:
        'Le serveur de commentaires est très sollicité. Résultat inconnu ; réessayer est sans risque.',
      origin_unreachable:
        'Le serveur de commentaires est injoignable pour le moment. Résultat inconnu ; réessayer est sans risque.',
    },
  },
  account: {
    close: 'Fermer',
    signInWith: (name) => `Se connecter avec ${name}`,
    windowBlocked:
      'Le navigateur a bloqué la fenêtre. Autorisez-la pour cette page, puis réessayez.',
    yourEmail: 'Votre adresse e-mail',
    mailLink: 'Recevoir un lien par e-mail',
    linkSent: 'Un lien vous a été envoyé. Ouvrez-le dans ce navigateur d’ici 15 minutes.',
    signOut: 'Se déconnecter',
    forgetGuest: 'M’oublier dans ce navigateur',
    mailMe: (address) => `E-mails à ${address}`,
    mailLanguage: 'Langue des e-mails',
    frequencies: { each: 'À chaque réponse', daily: 'Une fois par jour', never: 'Jamais' },
    downloadData: 'Télécharger mes données',
    eraseAll: 'Tout supprimer…',
    confirmErase:
      'Vos commentaires, vos réactions et votre nom seront supprimés ici. Cette action est irréversible.',
    eraseForGood: 'Tout supprimer définitivement',
    erased:
      'Tout ce qui vient de vous est en cours de suppression et aura disparu de toutes les pages dans quelques secondes.',
    notificationsTitle: 'Notifications',
    noNotifications: 'Rien pour l’instant. Les réponses et les mentions s’affichent ici.',
    loadOlder: 'Afficher les plus anciennes',
    notified: {
      reply: (name) => `${name} vous a répondu`,
      mention: (name) => `${name} vous a mentionné`,
    },
    decided: 'Un modérateur a statué sur votre commentaire',
    gone: 'Ce commentaire n’est plus affiché.',
  },
  keys: {
    title: 'Touches dans les commentaires',
    close: 'Fermer',
    keys: {
      j: 'Commentaire suivant',
      k: 'Commentaire précédent',
      u: 'Le commentaire auquel il répond',
      r: 'Répondre',
      l: 'J’aime',
      o: 'Déplier',
      '← →': 'Les boutons d’un commentaire',
      '?': 'Cette aide',
    },
  },
  widgets: {
    latestComments: 'Derniers commentaires',
    noComments: 'Pas encore de commentaires.',
  },
};
