import Glibc
import Phrases

/// The right to be the agent of one home: held from `take` until this value goes or the process ends.
package final class AgentLock: Sendable {
    private let lock: FileLock

    private init(_ lock: FileLock) { self.lock = lock }

    /// Takes the lock and notes this process's id in its file. Throws `busy` while another agent holds it.
    package static func take(_ places: AgentPlaces) throws(ConfigurationError) -> AgentLock {
        guard let lock = try FileLock.take(places.lock, attempts: 1) else {
            let bytes = (try? StoredFile.read(places.lock, byteLimit: 64)) ?? nil
            let text = String(decoding: bytes ?? [], as: UTF8.self)
            let who = Int32(text.prefix { $0.isNumber }).map { Phrase(" (process \($0))") } ?? ""
            throw ConfigurationError(
                .busy,
                "an agent is already running here\(who); stop it with `synctrain agent stop`, "
                    + "or choose another directory with --home",
                file: places.lock)
        }
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(lock.descriptor, 0) == 0, pwrite(lock.descriptor, text, text.count, 0) == text.count else {
            throw StoredFile.failure(.write, places.lock)
        }
        return AgentLock(lock)
    }
}
