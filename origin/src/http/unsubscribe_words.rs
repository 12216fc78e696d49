//! The words of the page that ends the mails to a member, in the languages of the mails that lead to it.

use gailou_shared::page_language::ReaderLanguage;

/// The words of one language.
#[derive(Debug)]
pub(super) struct UnsubscribeWords {
    /// The title of the window.
    pub(super) title: &'static str,
    pub(super) question: &'static str,
    /// The button.
    pub(super) stop: &'static str,
    pub(super) stopped: &'static str,
}

impl UnsubscribeWords {
    pub(super) const fn of(language: ReaderLanguage) -> &'static Self {
        match language {
            ReaderLanguage::English => &Self {
                title: "Mail",
                question: "Stop these mails?",
                stop: "Stop",
                stopped: "You will get no more of these mails.",
            },
            ReaderLanguage::SimplifiedChinese => {
                &Self {
                    title: "邮件", question: "不再接收邮件通知？", stop: "停止", stopped: "你不会再收到这些邮件。"
                }
            }
            ReaderLanguage::TraditionalChinese => {
                &Self {
                    title: "郵件", question: "不再接收郵件通知？", stop: "停止", stopped: "您不會再收到這些郵件。"
                }
            }
            ReaderLanguage::Japanese => &Self {
                title: "メール",
                question: "このメールの配信を停止しますか？",
                stop: "停止する",
                stopped: "今後、このメールは届きません。",
            },
            ReaderLanguage::Korean => &Self {
                title: "메일",
                question: "이 메일을 그만 받으시겠습니까?",
                stop: "그만 받기",
                stopped: "이제 이 메일을 받지 않습니다.",
            },
            ReaderLanguage::German => &Self {
                title: "E-Mails",
                question: "Keine dieser E-Mails mehr erhalten?",
                stop: "Abbestellen",
                stopped: "Du erhältst diese E-Mails nicht mehr.",
            },
            ReaderLanguage::French => &Self {
                title: "E-mails",
                question: "Ne plus recevoir ces e-mails\u{a0}?",
                stop: "Se désabonner",
                stopped: "Vous ne recevrez plus ces e-mails.",
            },
            ReaderLanguage::Spanish => &Self {
                title: "Correos",
                question: "¿Dejar de recibir estos correos?",
                stop: "Cancelar la suscripción",
                stopped: "Ya no recibirás estos correos.",
            },
            ReaderLanguage::Portuguese => &Self {
                title: "E-mails",
                question: "Parar de receber estes e-mails?",
                stop: "Cancelar inscrição",
                stopped: "Você não receberá mais estes e-mails.",
            },
            ReaderLanguage::Russian => &Self {
                title: "Письма",
                question: "Больше не получать эти письма?",
                stop: "Отписаться",
                stopped: "Вы больше не будете получать эти письма.",
            },
            ReaderLanguage::Arabic => &Self {
                title: "الرسائل",
                question: "هل تريد إيقاف هذه الرسائل؟",
                stop: "إيقاف",
                stopped: "لن تصلك هذه الرسائل بعد الآن.",
            },
            ReaderLanguage::Hebrew => &Self {
                title: "הודעות דואר",
                question: "להפסיק לקבל את ההודעות האלה?",
                stop: "הפסקה",
                stopped: "ההודעות האלה לא יישלחו אליך יותר.",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_language_says_it_in_english() {
        let texts = |language| {
            let UnsubscribeWords { title, question, stop, stopped } = UnsubscribeWords::of(language);
            [title, question, stop, stopped]
        };
        let english = texts(ReaderLanguage::English);
        for language in ReaderLanguage::ALL.into_iter().filter(|language| *language != ReaderLanguage::English) {
            let own = texts(language);
            assert!(own.iter().all(|text| !text.is_empty() && !english.contains(text)), "{language:?}: {own:?}");
        }
    }
}
