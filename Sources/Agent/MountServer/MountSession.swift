import LocalSocket
import MountProtocol

/// What answers a mount: one folder, from the mount's first message to the end of its connection.
package protocol MountSession: Sendable {
    /// What needs nothing but the index and the disk, which the caller's thread waits for. Nil for all else, of which nothing was done:
    /// then `answer` is asked.
    func answerNow(_ request: MountRequest) -> MountReply?
    /// Never throws: what cannot be done is an answer, too. A cancelled task's answer is not sent.
    func answer(_ request: MountRequest) async -> MountReply
    /// What becomes of changes that programs make.
    var access: MountAccess { get }
    /// Says what changed in the folder until the task is cancelled.
    func follow(_ send: @Sendable (MountAnswer) -> Void) async
    /// The connection is over: nothing is read for it any more.
    func end() async
}

package struct MountReply: Sendable {
    package var answer: MountAnswer
    package var enclosed: LocalSocket.Enclosed?

    package init(_ answer: MountAnswer, _ enclosed: LocalSocket.Enclosed? = nil) {
        self.answer = answer
        self.enclosed = enclosed
    }
}
