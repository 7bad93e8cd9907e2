import Glibc
import Phrases

/// The right to be the agent of one home: held from `take` until this value goes or the process ends.
package final class AgentLock: Sendable {
    private let lock: FileLock

    private init(_ lock: FileLock) { self.lock = lock }

    /// Takes the lock and notes this process's id in its file. Throws `busy` while another agent holds it.
    package static func take(_ places: AgentPlaces) throws(ConfigurationError) -> AgentLock {
        // More than one attempt: who asks for the holder holds it for an instant.
        guard let lock = try FileLock.take(places.lock, attempts: 10) else {
            let who = process(in: places).map { Phrase(" (process \($0))") } ?? ""
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

    /// Who holds the lock.
    package struct Holder: Equatable, Sendable {
        /// Nil in the instant before it is in the file.
        package var process: Int32?
    }

    /// Who holds the lock of a home, also where its control socket cannot be reached; nil if nobody does.
    ///
    /// - Throws: `ConfigurationError` if that cannot be seen.
    package static func holder(in places: AgentPlaces) throws(ConfigurationError) -> Holder? {
        try FileLock.isHeld(places.lock) ? Holder(process: process(in: places)) : nil
    }

    private static func process(in places: AgentPlaces) -> Int32? {
        let bytes = (try? StoredFile.read(places.lock, byteLimit: 64)) ?? nil
        return Int32(String(decoding: bytes ?? [], as: UTF8.self).prefix { $0.isNumber })
    }
}
