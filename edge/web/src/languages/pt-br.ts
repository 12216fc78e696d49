/** Brazilian Portuguese. */

import type { LoadedLanguage } from '../text/locale.ts';
import { numbersIn } from '../text/numbers.ts';

const { count, plural } = numbersIn<'one' | 'many' | 'other'>('pt-BR');

export const language: LoadedLanguage = {
  tag: 'pt-BR',
  text: {
    title: (n) =>
      plural(n, { one: '# comentário', many: '# de comentários', other: '# comentários' }),
    titleNone: 'Comentários',
    sortLabel: 'Ordenar comentários',
    moreSorts: 'Mais',
    hot: 'Em alta',
    new: 'Recentes',
    old: 'Antigos',
    top: 'Populares',
    best: 'Mais bem avaliados',
    replies: 'Mais respostas',
    controversial: 'Polêmicos',
    loading: 'Carregando comentários…',
    empty: 'Seja o primeiro a comentar.',
    loadMore: 'Carregar mais comentários',
    loadFailed: 'Não foi possível carregar os comentários.',
    tryAgain: 'Tentar de novo',
    stale:
      'Você está vendo uma cópia salva; o servidor de comentários não pode ser acessado agora.',
    closed: 'Os comentários estão fechados.',
    hiddenSubject: 'Os comentários desta página estão ocultos.',
    write: 'Escrever um comentário',
    writeReply: (name) => `Responder a ${name}`,
    editComment: 'Editar seu comentário',
    placeholder: 'Participe da conversa…',
    yourName: 'Seu nome',
    namePlaceholder: 'Como os outros verão você',
    postingAs: (name) => `Comentando como ${name}`,
    change: 'alterar',
    changeName: 'Alterar seu nome',
    yourAccount: 'Sua conta',
    signIn: 'Entrar',
    notifications: (unread) =>
      unread === 0
        ? 'Notificações'
        : plural(unread, {
            one: '# notificação não lida',
            many: '# de notificações não lidas',
            other: '# notificações não lidas',
          }),
    post: 'Publicar',
    reply: 'Responder',
    save: 'Salvar',
    retry: 'Tentar de novo',
    cancel: 'Cancelar',
    sending: 'Enviando…',
    counter: (left) =>
      left < 0
        ? `${count(-left)} a mais`
        : plural(left, { one: 'Resta #', many: 'Restam #', other: 'Restam #' }),
    needText: 'Escreva algo primeiro.',
    needName: 'Informe um nome primeiro.',
    tooLong: (most) => `Um comentário pode ter no máximo ${count(most)} caracteres.`,
    retrying: (seconds, attempt, most) =>
      `Resultado desconhecido; tentar de novo é seguro. Nova tentativa em ${count(seconds)} s (${count(attempt)} de ${count(most)})…`,
    addPicture: 'Adicionar uma imagem',
    uploading: (name) => `Enviando ${name}`,
    removePicture: (name) => `Remover ${name}`,
    tooManyPictures: (most) => `Um comentário pode ter no máximo ${count(most)} imagens.`,
    noPicture: 'Só é possível adicionar imagens JPEG, PNG, GIF e WebP.',
    pictureTooLarge: 'Uma imagem pode ter no máximo 5 MB.',
    stillUploading: 'Uma imagem ainda está sendo enviada.',
    solving: 'Um momento: verificando se você não é um robô…',
    confirmHuman: 'Confirme que você não é um robô.',
    keptText: 'Seu texto está guardado aqui.',
    retryIn: (seconds) => `Tente de novo em ${count(seconds)} s.`,
    posted: 'Seu comentário foi publicado.',
    saved: 'Sua alteração foi salva.',
    held: 'Seu comentário está aguardando moderação.',
    review: 'Aguardando moderação · só você vê isto',
    rejected: 'Não publicado · só você vê isto',
    selfOnly: 'Só você vê isto',
    masked: (n) =>
      plural(n, {
        one: '# trecho foi ocultado · só você vê este aviso',
        many: '# de trechos foram ocultados · só você vê este aviso',
        other: '# trechos foram ocultados · só você vê este aviso',
      }),
    deleted: 'Este comentário foi excluído',
    deletedNow: 'Seu comentário foi excluído.',
    deletedAuthor: 'Excluído',
    anonymous: 'Visitante',
    like: 'Curtir',
    dislike: 'Não curtir',
    edit: 'Editar',
    delete: 'Excluir',
    confirmDelete: 'Excluir este comentário?',
    nameToReact: 'Escolha um nome para reagir',
    continue: 'Continuar',
    replyingTo: 'em resposta a',
    floor: (n) => `#${count(n)}`,
    storey: (n) => `Andar ${count(n)}`,
    level: (n) => `Nv. ${count(n)}`,
    levelLabel: (n) => `Nível ${count(n)}`,
    guest: 'Visitante',
    guestLabel: 'Não tem conta aqui',
    roles: { moderator: 'Moderador', admin: 'Admin' },
    pinned: 'Fixado',
    featured: 'Em destaque',
    edited: 'editado',
    showReplies: (n) =>
      plural(n, {
        one: 'Mostrar # resposta',
        many: 'Mostrar # de respostas',
        other: 'Mostrar todas as # respostas',
      }),
    moreReplies: 'Mostrar mais respostas',
    repliesLoaded: (n) =>
      plural(n, {
        one: 'Mais # resposta exibida.',
        many: 'Mais # de respostas exibidas.',
        other: 'Mais # respostas exibidas.',
      }),
    commentsLoaded: (n) =>
      plural(n, {
        one: 'Mais # comentário exibido.',
        many: 'Mais # de comentários exibidos.',
        other: 'Mais # comentários exibidos.',
      }),
    build: 'Responder',
    showFloors: (n) => plural(n, { one: '# andar', many: '# de andares', other: '# andares' }),
    conversation: (n) =>
      plural(n, {
        one: 'conversa, # andar',
        many: 'conversa, # de andares',
        other: 'conversa, # andares',
      }),
    gap: (n, step) =>
      n > step
        ? `mais ${count(n)} andares · mostrar ${count(step)}`
        : plural(n, {
            one: 'mais # andar · mostrar o prédio inteiro',
            many: 'mais # de andares · mostrar o prédio inteiro',
            other: 'mais # andares · mostrar o prédio inteiro',
          }),
    floorsShown: (n) =>
      plural(n, {
        one: 'Mais # andar mostrado.',
        many: 'Mais # de andares mostrados.',
        other: 'Mais # andares mostrados.',
      }),
    actOnFloor: (n, name) => `andar ${count(n)}, de ${name}: curtir, responder, copiar link`,
    copyLink: 'Copiar link',
    linkCopied: 'Link copiado',
    wholeText: 'Mostrar o texto inteiro',
    foldText: 'Recolher',
    showInList: 'Ver na lista',
    close: 'Fechar',
    merged: 'O que você escreveu e curtiu aqui como convidado agora é seu.',
    linked: 'Comentário do link',
    linkGone: 'O comentário do link não foi encontrado.',
    newComments: (n) =>
      plural(n, {
        one: 'Mostrar # novo comentário',
        many: 'Mostrar # de novos comentários',
        other: 'Mostrar # novos comentários',
      }),
    reload: 'Os comentários mudaram. Mostrar de novo',
    now: 'agora mesmo',
    contentRejected: (categories) =>
      `Seu comentário contém palavras que não são permitidas aqui${categories ? ` (categorias: ${categories})` : ''}.`,
    siteNotAllowed: (site) =>
      `O servidor de comentários não aceita comentários de ${site}. O responsável por este site pode adicioná-lo a GAILOU_SITES no servidor.`,
    errors: {
      network: 'O servidor de comentários não respondeu.',
      invalid_request: 'Há algo errado na solicitação.',
      bad_cursor: 'Esta lista mudou. Carregue-a novamente.',
      token_missing: 'Entre primeiro.',
      token_invalid: 'Sua sessão expirou. Entre novamente.',
      guest_expired: 'Seu nome de visitante expirou. Informe-o novamente.',
      forbidden: 'Você não tem permissão para fazer isso.',
      muted: 'Por enquanto você não pode comentar aqui.',
      level_too_low: 'Seu nível ainda não permite comentar aqui.',
      guests_not_allowed: 'Visitantes não podem comentar aqui. Entre neste site.',
      challenge_required: 'Não foi possível verificar se você não é um robô. Tente novamente.',
      unknown_subject_type: 'Os comentários não estão ativados nesta página.',
      comment_not_found: 'Este comentário não existe mais.',
      parent_not_found: 'O comentário que você está respondendo não existe mais.',
      subject_closed: 'Os comentários estão fechados.',
      edit_window_over: 'Um comentário só pode ser editado por 15 minutos.',
      cursor_expired: 'Esta lista mudou. Carregue-a novamente.',
      body_too_large: 'Este texto é longo demais.',
      idempotency_mismatch: 'Isto já foi enviado com outro texto. Envie mais uma vez.',
      rate_limited: 'Você está indo um pouco rápido.',
      internal: 'Ocorreu um erro no servidor de comentários.',
      unavailable:
        'O servidor de comentários não está disponível agora. Resultado desconhecido; tentar de novo é seguro.',
      overloaded:
        'O servidor de comentários está muito ocupado. Resultado desconhecido; tentar de novo é seguro.',
      origin_unreachable:
        'O servidor de comentários não pode ser acessado agora. Resultado desconhecido; tentar de novo é seguro.',
    },
  },
  account: {
    close: 'Fechar',
    signInWith: (name) => `Entrar com ${name}`,
    windowBlocked: 'O navegador bloqueou a janela. Permita-a para esta página e tente de novo.',
    yourEmail: 'Seu e-mail',
    mailLink: 'Enviar um link por e-mail',
    linkSent: 'Enviamos um link para você. Abra-o neste navegador em até 15 minutos.',
    signOut: 'Sair',
    forgetGuest: 'Esquecer-me neste navegador',
    mailMe: (address) => `E-mails para ${address}`,
    mailLanguage: 'Idioma dos e-mails',
    frequencies: { each: 'A cada resposta', daily: 'Uma vez por dia', never: 'Nunca' },
    downloadData: 'Baixar meus dados',
    eraseAll: 'Excluir tudo…',
    confirmErase:
      'Seus comentários, reações e nome serão excluídos daqui. Não é possível recuperá-los.',
    eraseForGood: 'Excluir tudo definitivamente',
    erased: 'Tudo o que é seu está sendo excluído. Em segundos terá sumido de todas as páginas.',
    notificationsTitle: 'Notificações',
    noNotifications: 'Nada ainda. Respostas e menções aparecem aqui.',
    loadOlder: 'Mostrar mais antigas',
    notified: {
      reply: (name) => `${name} respondeu a você`,
      mention: (name) => `${name} mencionou você`,
    },
    decided: 'Um moderador decidiu sobre seu comentário',
    gone: 'Este comentário não é mais exibido.',
  },
  keys: {
    title: 'Teclas nos comentários',
    close: 'Fechar',
    keys: {
      j: 'Próximo comentário',
      k: 'Comentário anterior',
      u: 'O comentário a que responde',
      r: 'Responder',
      l: 'Curtir',
      o: 'Expandir',
      '← →': 'Os botões de um comentário',
      '?': 'Esta ajuda',
    },
  },
  widgets: {
    latestComments: 'Comentários recentes',
    noComments: 'Nenhum comentário ainda.',
  },
};
