/** Spanish, with the informal address that Discourse has. */

import type { LoadedLanguage } from '../text/locale.ts';
import { numbersIn } from '../text/numbers.ts';

const { count, plural } = numbersIn<'one' | 'many' | 'other'>('es');

export const language: LoadedLanguage = {
  tag: 'es',
  text: {
    title: (n) =>
      plural(n, { one: '# comentario', many: '# de comentarios', other: '# comentarios' }),
    titleNone: 'Comentarios',
    sortLabel: 'Ordenar comentarios',
    moreSorts: 'Más',
    hot: 'Destacados',
    new: 'Recientes',
    old: 'Antiguos',
    top: 'Populares',
    best: 'Mejor valorados',
    replies: 'Más respuestas',
    controversial: 'Polémicos',
    loading: 'Cargando comentarios…',
    empty: 'Escribe el primer comentario.',
    loadMore: 'Cargar más comentarios',
    loadFailed: 'No se pudieron cargar los comentarios.',
    tryAgain: 'Reintentar',
    stale:
      'Estás viendo una copia guardada; ahora mismo no se puede acceder al servidor de comentarios.',
    closed: 'Los comentarios están cerrados.',
    hiddenSubject: 'Los comentarios de esta página están ocultos.',
    write: 'Escribir un comentario',
    writeReply: (name) => `Responder a ${name}`,
    editComment: 'Editar tu comentario',
    placeholder: 'Únete a la conversación…',
    yourName: 'Tu nombre',
    namePlaceholder: 'Así te verán los demás',
    postingAs: (name) => `Escribes como ${name}`,
    change: 'cambiar',
    changeName: 'Cambiar tu nombre',
    yourAccount: 'Tu cuenta',
    signIn: 'Iniciar sesión',
    notifications: (unread) =>
      unread === 0
        ? 'Notificaciones'
        : plural(unread, {
            one: '# notificación sin leer',
            many: '# de notificaciones sin leer',
            other: '# notificaciones sin leer',
          }),
    post: 'Publicar',
    reply: 'Responder',
    save: 'Guardar',
    retry: 'Reintentar',
    cancel: 'Cancelar',
    sending: 'Enviando…',
    counter: (left) => (left < 0 ? `Sobran ${count(-left)}` : `Quedan ${count(left)}`),
    needText: 'Escribe algo primero.',
    needName: 'Escribe primero un nombre.',
    tooLong: (most) => `Un comentario puede tener como máximo ${count(most)} caracteres.`,
    retrying: (seconds, attempt, most) =>
      `Resultado desconocido; reintentar es seguro. Nuevo intento en ${count(seconds)} s (${count(attempt)} de ${count(most)})…`,
    addPicture: 'Añadir una imagen',
    uploading: (name) => `Subiendo ${name}`,
    removePicture: (name) => `Quitar ${name}`,
    tooManyPictures: (most) => `Un comentario puede tener como máximo ${count(most)} imágenes.`,
    noPicture: 'Solo se pueden añadir imágenes JPEG, PNG, GIF y WebP.',
    pictureTooLarge: 'Una imagen puede ocupar como máximo 5 MB.',
    stillUploading: 'Todavía se está subiendo una imagen.',
    solving: 'Un momento: comprobando que no eres un robot…',
    confirmHuman: 'Confirma que no eres un robot.',
    keptText: 'Tu texto se conserva aquí.',
    retryIn: (seconds) => `Vuelve a intentarlo en ${count(seconds)} s.`,
    posted: 'Tu comentario se ha publicado.',
    saved: 'Tu cambio se ha guardado.',
    held: 'Tu comentario está pendiente de moderación.',
    review: 'Pendiente de moderación · solo tú lo ves',
    rejected: 'No publicado · solo tú lo ves',
    selfOnly: 'Solo tú lo ves',
    masked: (n) =>
      plural(n, {
        one: 'Se ocultó # fragmento · solo tú ves esta nota',
        many: 'Se ocultaron # de fragmentos · solo tú ves esta nota',
        other: 'Se ocultaron # fragmentos · solo tú ves esta nota',
      }),
    deleted: 'Este comentario se ha eliminado',
    deletedNow: 'Tu comentario se ha eliminado.',
    deletedAuthor: 'Eliminado',
    anonymous: 'Invitado',
    like: 'Me gusta',
    dislike: 'No me gusta',
    edit: 'Editar',
    delete: 'Eliminar',
    confirmDelete: '¿Eliminar este comentario?',
    nameToReact: 'Elige un nombre para reaccionar',
    continue: 'Continuar',
    replyingTo: 'en respuesta a',
    floor: (n) => `#${count(n)}`,
    storey: (n) => `Piso ${count(n)}`,
    level: (n) => `Nv. ${count(n)}`,
    levelLabel: (n) => `Nivel ${count(n)}`,
    guest: 'Invitado',
    guestLabel: 'No tiene cuenta aquí',
    roles: { moderator: 'Moderador', admin: 'Admin' },
    pinned: 'Fijado',
    featured: 'Selección',
    edited: 'editado',
    showReplies: (n) =>
      plural(n, {
        one: 'Mostrar # respuesta',
        many: 'Mostrar # de respuestas',
        other: 'Mostrar las # respuestas',
      }),
    moreReplies: 'Mostrar más respuestas',
    repliesLoaded: (n) =>
      plural(n, {
        one: 'Se muestra # respuesta más.',
        many: 'Se muestran # de respuestas más.',
        other: 'Se muestran # respuestas más.',
      }),
    commentsLoaded: (n) =>
      plural(n, {
        one: 'Se muestra # comentario más.',
        many: 'Se muestran # de comentarios más.',
        other: 'Se muestran # comentarios más.',
      }),
    build: 'Responder',
    showFloors: (n) => plural(n, { one: '# piso', many: '# de pisos', other: '# pisos' }),
    conversation: (n) =>
      plural(n, {
        one: 'conversación, # piso',
        many: 'conversación, # de pisos',
        other: 'conversación, # pisos',
      }),
    gap: (n, step) =>
      n > step
        ? `${count(n)} pisos más · mostrar ${count(step)}`
        : plural(n, {
            one: '# piso más · mostrar todo el edificio',
            many: '# de pisos más · mostrar todo el edificio',
            other: '# pisos más · mostrar todo el edificio',
          }),
    floorsShown: (n) =>
      plural(n, {
        one: 'Se muestra # piso más.',
        many: 'Se muestran # de pisos más.',
        other: 'Se muestran # pisos más.',
      }),
    actOnFloor: (n, name) => `piso ${count(n)}, de ${name}: me gusta, responder, copiar enlace`,
    copyLink: 'Copiar enlace',
    linkCopied: 'Enlace copiado',
    wholeText: 'Mostrar todo el texto',
    foldText: 'Plegar',
    showInList: 'Ver en la lista',
    close: 'Cerrar',
    merged: 'Lo que escribiste y te gustó aquí como invitado ahora es tuyo.',
    linked: 'Comentario enlazado',
    linkGone: 'No se encontró el comentario enlazado.',
    newComments: (n) =>
      plural(n, {
        one: 'Mostrar # comentario nuevo',
        many: 'Mostrar # de comentarios nuevos',
        other: 'Mostrar # comentarios nuevos',
      }),
    reload: 'Los comentarios han cambiado. Volver a mostrarlos',
    now: 'ahora mismo',
    contentRejected: (categories) =>
      `Tu comentario contiene palabras que no se permiten aquí${categories ? ` (categorías: ${categories})` : ''}.`,
    siteNotAllowed: (site) =>
      `El servidor de comentarios no acepta comentarios de ${site}. Quien administra este sitio puede añadirlo a GAILOU_SITES en el servidor.`,
    errors: {
      network: 'El servidor de comentarios no respondió.',
      invalid_request: 'Hay algo incorrecto en la solicitud.',
      bad_cursor: 'Esta lista ha cambiado. Vuelve a cargarla.',
      token_missing: 'Inicia sesión primero.',
      token_invalid: 'Tu sesión ha caducado. Vuelve a iniciar sesión.',
      guest_expired: 'Tu nombre de invitado ha caducado. Escríbelo de nuevo.',
      forbidden: 'No tienes permiso para hacer esto.',
      muted: 'Por ahora no puedes comentar aquí.',
      level_too_low: 'Tu nivel aún no permite comentar aquí.',
      guests_not_allowed: 'Los invitados no pueden comentar aquí. Inicia sesión en este sitio.',
      challenge_required: 'No se pudo comprobar que no eres un robot. Inténtalo de nuevo.',
      unknown_subject_type: 'Los comentarios no están activados en esta página.',
      comment_not_found: 'Este comentario ya no existe.',
      parent_not_found: 'El comentario al que respondes ya no existe.',
      subject_closed: 'Los comentarios están cerrados.',
      edit_window_over: 'Un comentario solo se puede editar durante 15 minutos.',
      cursor_expired: 'Esta lista ha cambiado. Vuelve a cargarla.',
      body_too_large: 'Este texto es demasiado largo.',
      idempotency_mismatch: 'Esto ya se envió con otro texto. Envíalo una vez más.',
      rate_limited: 'Vas un poco rápido.',
      internal: 'Se produjo un error en el servidor de comentarios.',
      unavailable:
        'El servidor de comentarios no está disponible ahora. Resultado desconocido; reintentar es seguro.',
      overloaded:
        'El servidor de comentarios está muy ocupado. Resultado desconocido; reintentar es seguro.',
      origin_unreachable:
        'Ahora no se puede acceder al servidor de comentarios. Resultado desconocido; reintentar es seguro.',
    },
  },
  account: {
    close: 'Cerrar',
    signInWith: (name) => `Iniciar sesión con ${name}`,
    windowBlocked:
      'El navegador ha bloqueado la ventana. Permítela para esta página e inténtalo de nuevo.',
    yourEmail: 'Tu correo electrónico',
    mailLink: 'Enviarme un enlace',
    linkSent: 'Te hemos enviado un enlace. Ábrelo en este navegador antes de 15 minutos.',
    signOut: 'Cerrar sesión',
    forgetGuest: 'Olvidarme en este navegador',
    mailMe: (address) => `Correos a ${address}`,
    mailLanguage: 'Idioma de los correos',
    frequencies: { each: 'Con cada respuesta', daily: 'Una vez al día', never: 'Nunca' },
    downloadData: 'Descargar mis datos',
    eraseAll: 'Eliminar todo…',
    confirmErase:
      'Tus comentarios, reacciones y nombre se eliminarán de aquí. No se pueden recuperar.',
    eraseForGood: 'Eliminar todo definitivamente',
    erased:
      'Se está eliminando todo lo tuyo. En unos segundos habrá desaparecido de todas las páginas.',
    notificationsTitle: 'Notificaciones',
    noNotifications: 'Nada todavía. Aquí verás las respuestas y menciones.',
    loadOlder: 'Mostrar anteriores',
    notified: {
      reply: (name) => `${name} te ha respondido`,
      mention: (name) => `${name} te ha mencionado`,
    },
    decided: 'Un moderador ha decidido sobre tu comentario',
    gone: 'Este comentario ya no se muestra.',
  },
  keys: {
    title: 'Teclas en los comentarios',
    close: 'Cerrar',
    keys: {
      j: 'Comentario siguiente',
      k: 'Comentario anterior',
      u: 'El comentario al que responde',
      r: 'Responder',
      l: 'Me gusta',
      o: 'Desplegar',
      '← →': 'Los botones de un comentario',
      '?': 'Esta ayuda',
    },
  },
  widgets: {
    latestComments: 'Últimos comentarios',
    noComments: 'Aún no hay comentarios.',
  },
};
