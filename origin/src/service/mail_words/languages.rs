//! The words of mails, a constant for each language. Numbers stand where no plural depends on them;
//! where lines run from the right, names are isolated, so that they turn nothing around.

use crate::service::mail_words::MailWords;

pub(super) const ENGLISH_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name} answered you on “{title}”"),
    mention: |name, title| format!("{name} mentioned you on “{title}”"),
    watched: |name, title| format!("{name} commented on “{title}”, which you watch"),
    new: |name, title| format!("{name} commented on “{title}”"),
    held: |name, title| format!("A comment by {name} on “{title}” waits for a decision"),
    decided: |title, what| format!("Your comment on “{title}” {what}"),
    decisions: [
        "was approved",
        "was not accepted",
        "was hidden",
        "was restored",
        "was deleted",
        "was featured",
        "is no longer featured",
    ],
    several: |n| format!("{n} notifications"),
    more: |n| format!("… and {n} more"),
    gap: |n| format!("{n} more {}", if n == 1 { "floor" } else { "floors" }),
    open: "Open the comment",
    unsubscribe: "Do not mail me any more",
    sign_in_title: |site| format!("Sign in to comment on {site}"),
    sign_in: |site, url| {
        format!(
            "Open this address to sign in to the comments of {site}:\n\n{url}\n\n\
             It works once, within 15 minutes. If you have not asked for it, do nothing.\n"
        )
    },
};

pub(super) const SIMPLIFIED_CHINESE_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name} 在《{title}》中回复了你"),
    mention: |name, title| format!("{name} 在《{title}》中提到了你"),
    watched: |name, title| format!("{name} 评论了你关注的《{title}》"),
    new: |name, title| format!("{name} 评论了《{title}》"),
    held: |name, title| format!("{name} 对《{title}》的评论等待审核"),
    decided: |title, what| format!("你在《{title}》中的评论{what}"),
    decisions: ["已通过审核", "未通过审核", "已被隐藏", "已恢复", "已被删除", "已被设为精华", "已取消精华"],
    several: |n| format!("{n} 条通知"),
    more: |n| format!("……还有 {n} 条"),
    gap: |n| format!("还有 {n} 层"),
    open: "查看评论",
    unsubscribe: "不再接收邮件通知",
    sign_in_title: |site| format!("登录 {site} 的评论"),
    sign_in: |site, url| {
        format!(
            "打开以下链接，登录 {site} 的评论：\n\n{url}\n\n\
             链接在 15 分钟内有效，只能使用一次。如果不是您本人操作，请忽略本邮件。\n"
        )
    },
};

pub(super) const TRADITIONAL_CHINESE_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name} 在《{title}》中回覆了您"),
    mention: |name, title| format!("{name} 在《{title}》中提到了您"),
    watched: |name, title| format!("{name} 在您關注的《{title}》中留言"),
    new: |name, title| format!("{name} 在《{title}》中留言"),
    held: |name, title| format!("{name} 在《{title}》中的留言等待審核"),
    decided: |title, what| format!("您在《{title}》中的留言{what}"),
    decisions: ["已通過審核", "未通過審核", "已被隱藏", "已恢復", "已被刪除", "已被設為精選", "已取消精選"],
    several: |n| format!("{n} 則通知"),
    more: |n| format!("……還有 {n} 則"),
    gap: |n| format!("還有 {n} 層"),
    open: "查看留言",
    unsubscribe: "不再接收郵件通知",
    sign_in_title: |site| format!("登入 {site} 的留言"),
    sign_in: |site, url| {
        format!(
            "開啟以下連結，登入 {site} 的留言：\n\n{url}\n\n\
             連結在 15 分鐘內有效，只能使用一次。如果不是您本人操作，請忽略本郵件。\n"
        )
    },
};

pub(super) const JAPANESE_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name}さんが「{title}」で返信しました"),
    mention: |name, title| format!("{name}さんが「{title}」であなたをメンションしました"),
    watched: |name, title| format!("{name}さんがウォッチ中の「{title}」にコメントしました"),
    new: |name, title| format!("{name}さんが「{title}」にコメントしました"),
    held: |name, title| format!("「{title}」への{name}さんのコメントが承認を待っています"),
    decided: |title, what| format!("「{title}」へのあなたのコメントは{what}"),
    decisions: [
        "承認されました",
        "承認されませんでした",
        "非表示になりました",
        "復元されました",
        "削除されました",
        "注目コメントになりました",
        "注目コメントではなくなりました",
    ],
    several: |n| format!("通知 {n}件"),
    more: |n| format!("…ほか{n}件"),
    gap: |n| format!("あと{n}階"),
    open: "コメントを開く",
    unsubscribe: "今後メールを受け取らない",
    sign_in_title: |site| format!("{site} のコメントにログイン"),
    sign_in: |site, url| {
        format!(
            "次のアドレスを開くと、{site} のコメントにログインします。\n\n{url}\n\n\
             15分以内に1回だけ使えます。心当たりがない場合は、このメールを無視してください。\n"
        )
    },
};

pub(super) const KOREAN_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name}님이 “{title}”에서 답글을 남겼습니다"),
    mention: |name, title| format!("{name}님이 “{title}”에서 나를 멘션했습니다"),
    watched: |name, title| format!("{name}님이 구독 중인 “{title}”에 댓글을 남겼습니다"),
    new: |name, title| format!("{name}님이 “{title}”에 댓글을 남겼습니다"),
    held: |name, title| format!("“{title}”에 남긴 {name}님의 댓글이 검토를 기다리고 있습니다"),
    decided: |title, what| format!("“{title}”에 남긴 내 댓글이 {what}"),
    decisions: [
        "승인되었습니다",
        "승인되지 않았습니다",
        "숨겨졌습니다",
        "복원되었습니다",
        "삭제되었습니다",
        "추천 댓글이 되었습니다",
        "추천 댓글에서 내려갔습니다",
    ],
    several: |n| format!("알림 {n}개"),
    more: |n| format!("… 외 {n}개"),
    gap: |n| format!("{n}층 더 있음"),
    open: "댓글 열기",
    unsubscribe: "메일을 더 이상 받지 않기",
    sign_in_title: |site| format!("{site} 댓글에 로그인"),
    sign_in: |site, url| {
        format!(
            "다음 주소를 열면 {site} 댓글에 로그인됩니다.\n\n{url}\n\n\
             15분 안에 한 번만 쓸 수 있습니다. 요청한 적이 없다면 이 메일을 무시하세요.\n"
        )
    },
};

pub(super) const GERMAN_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name} hat dir zu „{title}“ geantwortet"),
    mention: |name, title| format!("{name} hat dich zu „{title}“ erwähnt"),
    watched: |name, title| format!("{name} hat „{title}“ kommentiert, das du beobachtest"),
    new: |name, title| format!("{name} hat „{title}“ kommentiert"),
    held: |name, title| format!("Ein Kommentar von {name} zu „{title}“ wartet auf eine Entscheidung"),
    decided: |title, what| format!("Dein Kommentar zu „{title}“ {what}"),
    decisions: [
        "wurde freigegeben",
        "wurde nicht angenommen",
        "wurde ausgeblendet",
        "wurde wiederhergestellt",
        "wurde gelöscht",
        "wurde ausgewählt",
        "ist nicht mehr ausgewählt",
    ],
    several: |n| format!("{n} Benachrichtigungen"),
    more: |n| format!("… und {n} weitere"),
    gap: |n| format!("noch {n} {}", if n == 1 { "Etage" } else { "Etagen" }),
    open: "Kommentar öffnen",
    unsubscribe: "Keine Mails mehr erhalten",
    sign_in_title: |site| format!("Anmelden bei den Kommentaren von {site}"),
    sign_in: |site, url| {
        format!(
            "Öffne diese Adresse, um dich bei den Kommentaren von {site} anzumelden:\n\n{url}\n\n\
             Sie gilt ein Mal und 15 Minuten lang. Wenn du das nicht angefordert hast, tu nichts.\n"
        )
    },
};

pub(super) const FRENCH_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name} vous a répondu sur « {title} »"),
    mention: |name, title| format!("{name} vous a mentionné sur « {title} »"),
    watched: |name, title| format!("{name} a commenté « {title} », que vous suivez"),
    new: |name, title| format!("{name} a commenté « {title} »"),
    held: |name, title| format!("Un commentaire de {name} sur « {title} » attend une décision"),
    decided: |title, what| format!("Votre commentaire sur « {title} » {what}"),
    decisions: [
        "a été approuvé",
        "n’a pas été accepté",
        "a été masqué",
        "a été rétabli",
        "a été supprimé",
        "a été mis en avant",
        "n’est plus mis en avant",
    ],
    several: |n| format!("{n} notifications"),
    more: |n| format!("… et {n} de plus"),
    gap: |n| format!("encore {n} {}", if n == 1 { "étage" } else { "étages" }),
    open: "Ouvrir le commentaire",
    unsubscribe: "Ne plus recevoir de mails",
    sign_in_title: |site| format!("Se connecter aux commentaires de {site}"),
    sign_in: |site, url| {
        format!(
            "Ouvrez cette adresse pour vous connecter aux commentaires de {site} :\n\n{url}\n\n\
             Elle fonctionne une seule fois, pendant 15 minutes. Si vous n’avez rien demandé, ne faites rien.\n"
        )
    },
};

pub(super) const SPANISH_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name} te ha respondido en «{title}»"),
    mention: |name, title| format!("{name} te ha mencionado en «{title}»"),
    watched: |name, title| format!("{name} ha comentado «{title}», que sigues"),
    new: |name, title| format!("{name} ha comentado «{title}»"),
    held: |name, title| format!("Un comentario de {name} en «{title}» espera una decisión"),
    decided: |title, what| format!("Tu comentario en «{title}» {what}"),
    decisions: [
        "se ha aprobado",
        "no se ha aceptado",
        "se ha ocultado",
        "se ha restaurado",
        "se ha eliminado",
        "se ha destacado",
        "ya no está destacado",
    ],
    several: |n| format!("{n} notificaciones"),
    more: |n| format!("… y {n} más"),
    gap: |n| format!("{n} {} más", if n == 1 { "piso" } else { "pisos" }),
    open: "Abrir el comentario",
    unsubscribe: "No recibir más correos",
    sign_in_title: |site| format!("Inicia sesión en los comentarios de {site}"),
    sign_in: |site, url| {
        format!(
            "Abre esta dirección para iniciar sesión en los comentarios de {site}:\n\n{url}\n\n\
             Funciona una sola vez, durante 15 minutos. Si no lo has pedido, no hagas nada.\n"
        )
    },
};

pub(super) const PORTUGUESE_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name} respondeu a você em “{title}”"),
    mention: |name, title| format!("{name} mencionou você em “{title}”"),
    watched: |name, title| format!("{name} comentou em “{title}”, que você acompanha"),
    new: |name, title| format!("{name} comentou em “{title}”"),
    held: |name, title| format!("Um comentário de {name} em “{title}” aguarda uma decisão"),
    decided: |title, what| format!("Seu comentário em “{title}” {what}"),
    decisions: [
        "foi aprovado",
        "não foi aceito",
        "foi ocultado",
        "foi restaurado",
        "foi excluído",
        "foi destacado",
        "não está mais em destaque",
    ],
    several: |n| format!("{n} notificações"),
    more: |n| format!("… e mais {n}"),
    gap: |n| format!("mais {n} {}", if n == 1 { "andar" } else { "andares" }),
    open: "Abrir o comentário",
    unsubscribe: "Não receber mais e-mails",
    sign_in_title: |site| format!("Entrar nos comentários de {site}"),
    sign_in: |site, url| {
        format!(
            "Abra este endereço para entrar nos comentários de {site}:\n\n{url}\n\n\
             Ele funciona uma única vez, por 15 minutos. Se você não pediu isso, não faça nada.\n"
        )
    },
};

pub(super) const RUSSIAN_WORDS: MailWords = MailWords {
    reply: |name, title| format!("{name}: ответ на ваш комментарий к «{title}»"),
    mention: |name, title| format!("{name}: вас упомянули в «{title}»"),
    watched: |name, title| format!("{name}: новый комментарий к «{title}», за которым вы следите"),
    new: |name, title| format!("{name}: новый комментарий к «{title}»"),
    held: |name, title| format!("{name}: комментарий к «{title}» ждёт решения"),
    decided: |title, what| format!("Ваш комментарий к «{title}» {what}"),
    decisions: [
        "одобрен",
        "не принят",
        "скрыт",
        "восстановлен",
        "удалён",
        "попал в выбор редакции",
        "больше не в выборе редакции",
    ],
    several: |n| format!("Уведомления: {n}"),
    more: |n| format!("… и ещё {n}"),
    gap: |n| format!("ещё этажи: {n}"),
    open: "Открыть комментарий",
    unsubscribe: "Больше не присылать писем",
    sign_in_title: |site| format!("Вход в комментарии {site}"),
    sign_in: |site, url| {
        format!(
            "Откройте этот адрес, чтобы войти в комментарии {site}:\n\n{url}\n\n\
             Он действует один раз, в течение 15 минут. Если вы этого не запрашивали, ничего не делайте.\n"
        )
    },
};

pub(super) const ARABIC_WORDS: MailWords = MailWords {
    reply: |name, title| format!("رد عليك \u{2068}{name}\u{2069} في «\u{2068}{title}\u{2069}»"),
    mention: |name, title| format!("أشار إليك \u{2068}{name}\u{2069} في «\u{2068}{title}\u{2069}»"),
    watched: |name, title| format!("تعليق جديد من \u{2068}{name}\u{2069} على «\u{2068}{title}\u{2069}» الذي تتابعه"),
    new: |name, title| format!("تعليق جديد من \u{2068}{name}\u{2069} على «\u{2068}{title}\u{2069}»"),
    held: |name, title| format!("تعليق من \u{2068}{name}\u{2069} على «\u{2068}{title}\u{2069}» بانتظار قرار"),
    decided: |title, what| format!("تعليقك على «\u{2068}{title}\u{2069}» {what}"),
    decisions: ["تمت الموافقة عليه", "لم يُقبل", "أُخفي", "استُعيد", "حُذف", "صار مميّزًا", "لم يعد مميّزًا"],
    several: |n| format!("الإشعارات: {n}"),
    more: |n| format!("… و{n} أخرى"),
    gap: |n| format!("طوابق أخرى: {n}"),
    open: "فتح التعليق",
    unsubscribe: "إيقاف رسائل البريد",
    sign_in_title: |site| format!("تسجيل الدخول إلى تعليقات \u{2068}{site}\u{2069}"),
    sign_in: |site, url| {
        format!(
            "افتح هذا العنوان لتسجيل الدخول إلى تعليقات \u{2068}{site}\u{2069}:\n\n{url}\n\n\
             يعمل مرة واحدة خلال 15 دقيقة. إن لم تطلبه فلا تفعل شيئًا.\n"
        )
    },
};

pub(super) const HEBREW_WORDS: MailWords = MailWords {
    reply: |name, title| format!("מענה לתגובה שלך מאת \u{2068}{name}\u{2069} ב־״\u{2068}{title}\u{2069}״"),
    mention: |name, title| format!("אזכור שלך מאת \u{2068}{name}\u{2069} ב־״\u{2068}{title}\u{2069}״"),
    watched: |name, title| format!("תגובה חדשה מאת \u{2068}{name}\u{2069} ב־״\u{2068}{title}\u{2069}״ שבמעקב שלך"),
    new: |name, title| format!("תגובה חדשה מאת \u{2068}{name}\u{2069} ב־״\u{2068}{title}\u{2069}״"),
    held: |name, title| format!("תגובה מאת \u{2068}{name}\u{2069} ב־״\u{2068}{title}\u{2069}״ ממתינה להחלטה"),
    decided: |title, what| format!("התגובה שלך ב־״\u{2068}{title}\u{2069}״ {what}"),
    decisions: ["אושרה", "לא התקבלה", "הוסתרה", "שוחזרה", "נמחקה", "נבחרה", "כבר אינה נבחרת"],
    several: |n| format!("התראות: {n}"),
    more: |n| format!("… ועוד {n}"),
    gap: |n| format!("קומות נוספות: {n}"),
    open: "פתיחת התגובה",
    unsubscribe: "לא לקבל עוד מיילים",
    sign_in_title: |site| format!("כניסה לתגובות של \u{2068}{site}\u{2069}"),
    sign_in: |site, url| {
        format!(
            "פתיחת הכתובת הזאת מכניסה לתגובות של \u{2068}{site}\u{2069}:\n\n{url}\n\n\
             היא פועלת פעם אחת, במשך 15 דקות. אם לא ביקשת אותה, אין צורך לעשות דבר.\n"
        )
    },
};
