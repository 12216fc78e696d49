//! The words in Arabic.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;

use crate::http::html::words::{PageWords, RefusalWords};

pub(super) const ARABIC_PAGE_WORDS: PageWords = PageWords {
    name: "العربية",
    languages: "اللغات",
    no_comments: "التعليقات",
    comments: |n| format!("التعليقات: {n}"),
    closed: "التعليقات مغلقة.",
    hidden: "تعليقات هذه الصفحة مخفية.",
    empty: "لا توجد تعليقات بعد.",
    more_comments: "مزيد من التعليقات",
    more_replies: "مزيد من الردود",
    replies_left: |n| format!("ردود أخرى: {n}"),
    replying_to: "ردًا على",
    likes: |n| format!("الإعجابات: {n}"),
    deleted: "حُذف هذا التعليق",
    deleted_author: "محذوف",
    guest: "زائر",
    guest_title: "ليس له حساب هنا",
    moderator: "مشرف",
    admin: "مدير",
    level: |n| format!("م {n}"),
    pinned: "مثبّت",
    featured: "مميّز",
    edited: "معدّل",
    floor: |n| format!("#{n}"),
    storey: |n| format!("الطابق {n}"),
    conversation: |n| format!("محادثة، عدد الطوابق: {n}"),
    gap: |n| format!("طوابق أخرى: {n}"),
    write_comment: "اكتب تعليقًا",
    write_reply: "اكتب ردًا",
    reply: "رد",
    your_name: "اسمك",
    your_comment: "تعليقك",
    post: "نشر",
    held: "تعليقك في انتظار المراجعة.",
    common: RefusalPageWords::of(ReaderLanguage::Arabic),
    refusals: RefusalWords {
        challenge: "يطلب هذا الموقع من الزوار إثبات أنهم ليسوا روبوتات، وهذا يحتاج إلى JavaScript. نصك محفوظ هنا: علّق من صفحة المقال \
                    بعد تفعيل JavaScript.",
        no_guests: "لا يمكن للزوار التعليق هنا.",
        parent_gone: "لم يعد التعليق الذي ترد عليه موجودًا.",
        form_too_old: "انتهت صلاحية هذا النموذج. نصك محفوظ هنا: انسخه وافتح النموذج من جديد.",
        sent_before: "أُرسل هذا النموذج من قبل بنص آخر. انسخ نصك وافتح النموذج من جديد.",
        busy: "خادم التعليقات مشغول. النتيجة غير معروفة؛ إعادة المحاولة آمنة.",
        muted: "لا يمكنك التعليق هنا في الوقت الحالي.",
        level_too_low: "مستواك لا يكفي بعد للتعليق هنا.",
        blocked_words: |categories| {
            format!("يحتوي تعليقك على كلمات غير مسموح بها هنا (الفئات: \u{2068}{categories}\u{2069}).")
        },
        name_not_allowed: "هذا الاسم غير مسموح به هنا أو مستخدم من قبل. اختر اسمًا آخر.",
        wrong_name: |max| format!("أدخل اسمًا بلا أحرف تحكم. أقصى عدد للأحرف: {max}."),
        wrong_text: |max| {
            format!("هذا النص فارغ أو طويل جدًا أو يحتوي على أحرف غير مسموح بها هنا. أقصى عدد للأحرف: {max}.")
        },
        other: "لم يُقبل تعليقك.",
    },
};
