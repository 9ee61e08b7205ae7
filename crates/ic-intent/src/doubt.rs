//! Why a message does not answer a question: in every case the person is asked.

/// What is not clear. The words follow "the auto-approver asks you:".
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// Nobody has said anything, or it was taken back.
    #[error("there is no message of yours to go by")]
    NoMessage,
    /// The message is older than two minutes.
    #[error("your last message is older than 120 seconds")]
    Stale,
    /// Part of the message was pasted.
    #[error("part of your last message was pasted")]
    Pasted,
    /// Keys that moved, completed or recalled something made the message.
    #[error("what you typed cannot be told from its keys alone")]
    Keys,
    /// The message is too long.
    #[error("your last message is too long to be read word by word")]
    Long,
    /// The message has several lines.
    #[error("your last message has several lines")]
    Lines,
    /// The message has characters that may look like others.
    #[error("your last message has characters other than plain ASCII")]
    Characters,
    /// The message repeats what an agent wrote.
    #[error("your last message repeats words that the agent wrote")]
    Heard,
    /// The message quotes something.
    #[error("your last message quotes something")]
    Quoted,
    /// A word takes something back, or makes it depend on something.
    #[error("your last message has a word such as \"not\", \"if\" or \"said\"")]
    Words,
    /// The call names nothing that could be compared.
    #[error("the call names no resource that a message could name")]
    Nothing,
    /// The call names something in a way in which no message is compared.
    #[error("the call names something other than paths, URLs and repositories")]
    Kind,
    /// The call has arguments that the message cannot have meant.
    #[error("the call has arguments that your message does not mention")]
    Arguments,
    /// An invariant asks, or something that is about the call as a whole.
    #[error("this kind of request is always yours to answer")]
    Structural,
    /// A resource is not in the message, or not in full.
    #[error("your last message does not name everything that the call is about, in full")]
    NotNamed,
    /// The message names more than the call is about, or says it twice.
    #[error("your last message could mean something else as well")]
    Ambiguous,
    /// The message asks for something else.
    #[error("your last message does not ask for this kind of call")]
    OtherDeed,
    /// The message has already answered this.
    #[error("your last message was used for this call already")]
    Used,
}
