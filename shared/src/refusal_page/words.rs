//! The words of the page that a reader sees in place of a problem, a constant for each language.

use crate::page_language::ReaderLanguage;

/// The words of one language; the pages of comments have the same where they say the same.
#[derive(Debug)]
pub struct RefusalPageWords {
    /// The link to the first page of a subject's comments.
    pub all_comments: &'static str,
    /// Subjects of this type have no comments.
    pub not_set_up: &'static str,
    /// Too many requests came from the reader's network.
    pub too_fast: &'static str,
    /// The server has a fault.
    pub failed: &'static str,
    pub(super) comment_gone: &'static str,
    pub(super) list_moved: &'static str,
    pub(super) no_answer: &'static str,
    pub(super) no_page: &'static str,
}

impl RefusalPageWords {
    /// The words of a language.
    #[must_use]
    pub const fn of(language: ReaderLanguage) -> &'static Self {
        match language {
            ReaderLanguage::English => &ENGLISH_REFUSALS,
            ReaderLanguage::SimplifiedChinese => &SIMPLIFIED_CHINESE_REFUSALS,
            ReaderLanguage::TraditionalChinese => &TRADITIONAL_CHINESE_REFUSALS,
            ReaderLanguage::Japanese => &JAPANESE_REFUSALS,
            ReaderLanguage::Korean => &KOREAN_REFUSALS,
            ReaderLanguage::German => &GERMAN_REFUSALS,
            ReaderLanguage::French => &FRENCH_REFUSALS,
            ReaderLanguage::Spanish => &SPANISH_REFUSALS,
            ReaderLanguage::Portuguese => &PORTUGUESE_REFUSALS,
            ReaderLanguage::Russian => &RUSSIAN_REFUSALS,
            ReaderLanguage::Arabic => &ARABIC_REFUSALS,
            ReaderLanguage::Hebrew => &HEBREW_REFUSALS,
        }
    }
}

const ENGLISH_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "All comments",
    not_set_up: "Comments are not set up for this page.",
    too_fast: "You are going a little fast. Try again in a minute.",
    failed: "The comment server made a mistake.",
    comment_gone: "This comment is not here, or no longer.",
    list_moved: "This part of the list is not here, or no longer. Begin with its first page.",
    no_answer: "The comment server does not answer. Try again in a minute.",
    no_page: "There is no page at this address.",
};

const SIMPLIFIED_CHINESE_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "全部评论",
    not_set_up: "本页尚未开通评论。",
    too_fast: "操作太快了，请稍后再试。",
    failed: "评论服务器出错了。",
    comment_gone: "这条评论不在这里，或已不存在。",
    list_moved: "列表的这一部分不在这里，或已不存在。请从第一页开始。",
    no_answer: "评论服务器没有响应，请稍后再试。",
    no_page: "此地址没有页面。",
};

const TRADITIONAL_CHINESE_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "全部留言",
    not_set_up: "本頁尚未開放留言。",
    too_fast: "操作太快了，請稍後再試。",
    failed: "留言伺服器發生錯誤。",
    comment_gone: "這則留言不在這裡，或已不存在。",
    list_moved: "列表的這一部分不在這裡，或已不存在。請從第一頁開始。",
    no_answer: "留言伺服器沒有回應，請稍後再試。",
    no_page: "此網址沒有頁面。",
};

const JAPANESE_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "すべてのコメント",
    not_set_up: "このページではコメントが設定されていません。",
    too_fast: "操作が速すぎます。しばらくしてからもう一度お試しください。",
    failed: "コメントサーバーでエラーが発生しました。",
    comment_gone: "このコメントはここにないか、すでに削除されています。",
    list_moved: "一覧のこの部分はここにないか、すでになくなっています。最初のページからご覧ください。",
    no_answer: "コメントサーバーが応答しません。しばらくしてからもう一度お試しください。",
    no_page: "このアドレスにページはありません。",
};

const KOREAN_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "모든 댓글",
    not_set_up: "이 페이지에는 댓글이 설정되어 있지 않습니다.",
    too_fast: "조금 천천히 해 주세요. 잠시 후 다시 시도해 주세요.",
    failed: "댓글 서버에 오류가 발생했습니다.",
    comment_gone: "이 댓글은 여기에 없거나 더 이상 없습니다.",
    list_moved: "목록의 이 부분은 여기에 없거나 더 이상 없습니다. 첫 페이지부터 보세요.",
    no_answer: "댓글 서버가 응답하지 않습니다. 잠시 후 다시 시도해 주세요.",
    no_page: "이 주소에는 페이지가 없습니다.",
};

const GERMAN_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "Alle Kommentare",
    not_set_up: "Für diese Seite sind keine Kommentare eingerichtet.",
    too_fast: "Das geht etwas zu schnell. Versuch es in einer Minute noch einmal.",
    failed: "Auf dem Kommentarserver ist ein Fehler aufgetreten.",
    comment_gone: "Diesen Kommentar gibt es hier nicht oder nicht mehr.",
    list_moved: "Diesen Teil der Liste gibt es hier nicht oder nicht mehr. Beginne mit der ersten Seite.",
    no_answer: "Der Kommentarserver antwortet nicht. Versuch es in einer Minute noch einmal.",
    no_page: "Unter dieser Adresse gibt es keine Seite.",
};

const FRENCH_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "Tous les commentaires",
    not_set_up: "Les commentaires ne sont pas activés pour cette page.",
    too_fast: "Vous allez un peu vite. Réessayez dans une minute.",
    failed: "Une erreur est survenue sur le serveur de commentaires.",
    comment_gone: "Ce commentaire n’est pas ici, ou n’y est plus.",
    list_moved: "Cette partie de la liste n’est pas ici, ou n’y est plus. Commencez par la première page.",
    no_answer: "Le serveur de commentaires ne répond pas. Réessayez dans une minute.",
    no_page: "Il n’y a pas de page à cette adresse.",
};

const SPANISH_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "Todos los comentarios",
    not_set_up: "Los comentarios no están activados en esta página.",
    too_fast: "Vas un poco rápido. Inténtalo de nuevo dentro de un minuto.",
    failed: "Se produjo un error en el servidor de comentarios.",
    comment_gone: "Este comentario no está aquí, o ya no está.",
    list_moved: "Esta parte de la lista no está aquí, o ya no está. Empieza por la primera página.",
    no_answer: "El servidor de comentarios no responde. Inténtalo de nuevo dentro de un minuto.",
    no_page: "No hay ninguna página en esta dirección.",
};

const PORTUGUESE_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "Todos os comentários",
    not_set_up: "Os comentários não estão ativados nesta página.",
    too_fast: "Você está indo um pouco rápido. Tente novamente em um minuto.",
    failed: "Ocorreu um erro no servidor de comentários.",
    comment_gone: "Este comentário não está aqui, ou não está mais.",
    list_moved: "Esta parte da lista não está aqui, ou não está mais. Comece pela primeira página.",
    no_answer: "O servidor de comentários não responde. Tente novamente em um minuto.",
    no_page: "Não há página neste endereço.",
};

const RUSSIAN_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "Все комментарии",
    not_set_up: "Комментарии на этой странице не настроены.",
    too_fast: "Вы немного торопитесь. Попробуйте ещё раз через минуту.",
    failed: "На сервере комментариев произошла ошибка.",
    comment_gone: "Этого комментария здесь нет или больше нет.",
    list_moved: "Этой части списка здесь нет или больше нет. Начните с первой страницы.",
    no_answer: "Сервер комментариев не отвечает. Попробуйте ещё раз через минуту.",
    no_page: "По этому адресу нет страницы.",
};

const ARABIC_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "كل التعليقات",
    not_set_up: "التعليقات غير مفعّلة في هذه الصفحة.",
    too_fast: "تمهّل قليلًا، ثم أعد المحاولة بعد دقيقة.",
    failed: "حدث خطأ في خادم التعليقات.",
    comment_gone: "هذا التعليق غير موجود هنا، أو لم يعد موجودًا.",
    list_moved: "هذا الجزء من القائمة غير موجود هنا، أو لم يعد موجودًا. ابدأ بالصفحة الأولى.",
    no_answer: "خادم التعليقات لا يستجيب. أعد المحاولة بعد دقيقة.",
    no_page: "لا توجد صفحة في هذا العنوان.",
};

const HEBREW_REFUSALS: RefusalPageWords = RefusalPageWords {
    all_comments: "כל התגובות",
    not_set_up: "התגובות אינן מופעלות בעמוד זה.",
    too_fast: "קצת יותר לאט, בבקשה. אפשר לנסות שוב בעוד דקה.",
    failed: "אירעה שגיאה בשרת התגובות.",
    comment_gone: "התגובה הזאת אינה כאן, או שכבר אינה קיימת.",
    list_moved: "החלק הזה של הרשימה אינו כאן, או שכבר אינו קיים. אפשר להתחיל מהעמוד הראשון.",
    no_answer: "שרת התגובות אינו עונה. אפשר לנסות שוב בעוד דקה.",
    no_page: "אין עמוד בכתובת הזאת.",
};
