import LocalSocket
import MountProtocol

/// Which folder a mount is of, and which mount it is.
package struct MountGreeting: Sendable {
    /// The folder's id.
    package var folder: String
    package var origin: MountOrigin
    /// Its process; 0 if the kernel does not say.
    package var process: Int32

    package init(folder: String, origin: MountOrigin, process: Int32) {
        (self.folder, self.origin, self.process) = (folder, origin, process)
    }
}

/// What answers a mount: one folder, from the mount's first message to the end of its connection.
package protocol MountSession: Sendable {
    /// Answers a request that needs only the index and the disk, and blocks the caller's thread for them. Nil for any other request;
    /// nothing was done for it then, and `answer` is called.
    func answerNow(_ request: MountRequest) -> MountReply?
    /// Never throws: what cannot be done is an answer, too. A cancelled task's answer is not sent.
    func answer(_ request: MountRequest) async -> MountReply
    /// What becomes of changes that programs make.
    var access: MountAccess { get }
    /// Says what changed in the folder until the task is cancelled.
    func follow(_ send: @escaping @Sendable (MountAnswer) -> Void) async
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
