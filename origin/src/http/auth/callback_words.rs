//! The words of the pages at which signing in ends, in the languages of the mails that lead to them.

use gailou_shared::page_language::ReaderLanguage;

/// Why the reader is not signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignInFailure {
    /// The link was used, or it took too long, or it began in another browser.
    Over,
    /// The provider confirms nothing.
    NotConfirmed,
    /// The page's site may not write here (any more).
    SiteNotAllowed,
}

/// The words of one language.
#[derive(Debug)]
pub(super) struct CallbackWords {
    /// The heading, and the button, of the page that asks.
    pub(super) sign_in: &'static str,
    /// Before the site that is to be commented on.
    pub(super) site: &'static str,
    /// Before the address of the mail.
    pub(super) address: &'static str,
    pub(super) not_asked: &'static str,
    pub(super) signed_in: &'static str,
    /// Before the site that the reader came from.
    pub(super) back_to: &'static str,
    pub(super) not_signed_in: &'static str,
    over: &'static str,
    not_confirmed: &'static str,
    site_not_allowed: &'static str,
}

impl CallbackWords {
    /// Why a reader is not signed in, and what to do.
    pub(super) const fn reason(&self, failure: SignInFailure) -> &'static str {
        match failure {
            SignInFailure::Over => self.over,
            SignInFailure::NotConfirmed => self.not_confirmed,
            SignInFailure::SiteNotAllowed => self.site_not_allowed,
        }
    }

    pub(super) const fn of(language: ReaderLanguage) -> &'static Self {
        match language {
            ReaderLanguage::English => &Self {
                sign_in: "Sign in",
                site: "To comment on:",
                address: "As:",
                not_asked: "If you have not asked for it, close this page.",
                signed_in: "You are signed in",
                back_to: "Go back to",
                not_signed_in: "You are not signed in",
                over: "This link was used already, or it is too old. Go back to the page where you wanted to comment, and \
                       sign in again.",
                not_confirmed: "The provider has not confirmed who you are. Go back to the page where you wanted to \
                                comment, and try again.",
                site_not_allowed: "The site that you come from may not take comments here. Its owner can allow it.",
            },
            ReaderLanguage::SimplifiedChinese => &Self {
                sign_in: "登录",
                site: "评论网站：",
                address: "身份：",
                not_asked: "如果不是您本人操作，请关闭本页。",
                signed_in: "登录成功",
                back_to: "返回",
                not_signed_in: "未能登录",
                over: "链接已经用过或已过期。请回到您要评论的页面，重新登录。",
                not_confirmed: "登录服务未能确认您的身份。请回到您要评论的页面，再试一次。",
                site_not_allowed: "您来自的网站未被允许在此评论，请联系网站管理员。",
            },
            ReaderLanguage::TraditionalChinese => &Self {
                sign_in: "登入",
                site: "評論網站：",
                address: "身分：",
                not_asked: "如果不是您本人操作，請關閉本頁。",
                signed_in: "登入成功",
                back_to: "返回",
                not_signed_in: "未能登入",
                over: "連結已經用過或已過期。請回到您要評論的頁面，重新登入。",
                not_confirmed: "登入服務未能確認您的身分。請回到您要評論的頁面，再試一次。",
                site_not_allowed: "您來自的網站未獲准在此評論，請聯絡網站管理員。",
            },
            ReaderLanguage::Japanese => &Self {
                sign_in: "ログイン",
                site: "コメント先のサイト：",
                address: "ログインするアドレス：",
                not_asked: "お心当たりがない場合は、このページを閉じてください。",
                signed_in: "ログインしました",
                back_to: "戻る：",
                not_signed_in: "ログインできませんでした",
                over: "このリンクはすでに使われたか、期限が切れています。コメントしたいページに戻り、もう一度ログインしてください。",
                not_confirmed: "プロバイダーがご本人を確認できませんでした。コメントしたいページに戻り、もう一度お試しください。",
                site_not_allowed: "元のサイトはここでコメントを受け付けることを許可されていません。サイトの管理者が許可できます。",
            },
            ReaderLanguage::Korean => &Self {
                sign_in: "로그인",
                site: "댓글을 쓸 사이트:",
                address: "로그인할 주소:",
                not_asked: "요청하신 적이 없다면 이 페이지를 닫아 주세요.",
                signed_in: "로그인되었습니다",
                back_to: "돌아가기:",
                not_signed_in: "로그인되지 않았습니다",
                over: "이미 사용되었거나 기한이 지난 링크입니다. 댓글을 쓰려던 페이지로 돌아가 다시 로그인해 주세요.",
                not_confirmed: "로그인 서비스가 본인임을 확인하지 못했습니다. 댓글을 쓰려던 페이지로 돌아가 다시 시도해 주세요.",
                site_not_allowed: "이전 사이트는 여기에서 댓글을 받을 수 없습니다. 사이트 관리자가 허용할 수 있습니다.",
            },
            ReaderLanguage::German => &Self {
                sign_in: "Anmelden",
                site: "Zum Kommentieren auf:",
                address: "Als:",
                not_asked: "Wenn Sie das nicht angefordert haben, schließen Sie diese Seite.",
                signed_in: "Sie sind angemeldet",
                back_to: "Zurück zu",
                not_signed_in: "Sie sind nicht angemeldet",
                over: "Dieser Link wurde schon benutzt oder ist zu alt. Gehen Sie zurück zu der Seite, auf der Sie \
                       kommentieren wollten, und melden Sie sich noch einmal an.",
                not_confirmed: "Der Anbieter hat nicht bestätigt, wer Sie sind. Gehen Sie zurück zu der Seite, auf der Sie \
                                kommentieren wollten, und versuchen Sie es noch einmal.",
                site_not_allowed: "Die Website, von der Sie kommen, darf hier keine Kommentare annehmen. Wer sie betreibt, \
                                   kann das erlauben.",
            },
            ReaderLanguage::French => &Self {
                sign_in: "Se connecter",
                site: "Pour commenter sur :",
                address: "En tant que :",
                not_asked: "Si vous n’avez rien demandé, fermez cette page.",
                signed_in: "Vous êtes connecté(e)",
                back_to: "Retour à",
                not_signed_in: "Vous n’êtes pas connecté(e)",
                over: "Ce lien a déjà servi, ou il est trop ancien. Retournez à la page que vous vouliez commenter et \
                       reconnectez-vous.",
                not_confirmed: "Le fournisseur n’a pas confirmé votre identité. Retournez à la page que vous vouliez \
                                commenter et réessayez.",
                site_not_allowed: "Le site d’où vous venez ne peut pas recevoir de commentaires ici. Son propriétaire peut \
                                   l’autoriser.",
            },
            ReaderLanguage::Spanish => &Self {
                sign_in: "Iniciar sesión",
                site: "Para comentar en:",
                address: "Como:",
                not_asked: "Si no lo ha pedido, cierre esta página.",
                signed_in: "Ha iniciado sesión",
                back_to: "Volver a",
                not_signed_in: "No ha iniciado sesión",
                over: "Este enlace ya se ha usado o es demasiado antiguo. Vuelva a la página en la que quería comentar e \
                       inicie sesión de nuevo.",
                not_confirmed: "El proveedor no ha confirmado quién es usted. Vuelva a la página en la que quería comentar e \
                                inténtelo de nuevo.",
                site_not_allowed: "El sitio del que viene no puede recibir comentarios aquí. Su propietario puede permitirlo.",
            },
            ReaderLanguage::Portuguese => &Self {
                sign_in: "Entrar",
                site: "Para comentar em:",
                address: "Como:",
                not_asked: "Se você não pediu isso, feche esta página.",
                signed_in: "Você entrou",
                back_to: "Voltar para",
                not_signed_in: "Você não entrou",
                over: "Este link já foi usado ou é antigo demais. Volte à página em que queria comentar e entre de novo.",
                not_confirmed: "O provedor não confirmou quem você é. Volte à página em que queria comentar e tente de novo.",
                site_not_allowed: "O site de onde você veio não pode receber comentários aqui. O dono dele pode permitir.",
            },
            ReaderLanguage::Russian => &Self {
                sign_in: "Войти",
                site: "Чтобы комментировать на сайте:",
                address: "Адрес:",
                not_asked: "Если вы этого не запрашивали, закройте страницу.",
                signed_in: "Вы вошли",
                back_to: "Вернуться на",
                not_signed_in: "Войти не удалось",
                over: "Эта ссылка уже использована или устарела. Вернитесь на страницу, которую хотели прокомментировать, и \
                       войдите снова.",
                not_confirmed: "Сервис входа не подтвердил, кто вы. Вернитесь на страницу, которую хотели прокомментировать, \
                                и попробуйте ещё раз.",
                site_not_allowed: "Сайту, с которого вы пришли, не разрешено принимать здесь комментарии. Его владелец может \
                                   это разрешить.",
            },
            ReaderLanguage::Arabic => &Self {
                sign_in: "تسجيل الدخول",
                site: "للتعليق على:",
                address: "باسم:",
                not_asked: "إذا لم تطلب ذلك فأغلق هذه الصفحة.",
                signed_in: "تم تسجيل دخولك",
                back_to: "العودة إلى",
                not_signed_in: "لم يتم تسجيل دخولك",
                over: "هذا الرابط استُخدم من قبل أو انتهت صلاحيته. عُد إلى الصفحة التي أردت التعليق عليها وسجّل الدخول من جديد.",
                not_confirmed: "لم يؤكد مزوّد الخدمة هويتك. عُد إلى الصفحة التي أردت التعليق عليها وحاول مرة أخرى.",
                site_not_allowed: "الموقع الذي أتيت منه غير مسموح له باستقبال التعليقات هنا. يمكن لمالكه أن يسمح بذلك.",
            },
            ReaderLanguage::Hebrew => &Self {
                sign_in: "כניסה",
                site: "כדי להגיב באתר:",
                address: "בתור:",
                not_asked: "אם לא ביקשת זאת, אפשר לסגור את הדף.",
                signed_in: "נכנסת בהצלחה",
                back_to: "חזרה אל",
                not_signed_in: "הכניסה לא הצליחה",
                over: "הקישור כבר נוצל או שהוא ישן מדי. יש לחזור לדף שבו רצית להגיב ולהיכנס שוב.",
                not_confirmed: "הספק לא אישר את זהותך. יש לחזור לדף שבו רצית להגיב ולנסות שוב.",
                site_not_allowed: "האתר שממנו הגעת אינו מורשה לקבל כאן תגובות. בעל האתר יכול לאפשר זאת.",
            },
        }
    }
}
