import AgentConfiguration
import Glibc
import NIOCore
import Phrases
import Reachability
import Transport
import TransportTCP

/// Tries what an agent does first when it starts, while none runs.
enum StartProbe {
    /// Why it could not start. What is wrong with the configuration is said elsewhere.
    static func hindrances(_ places: AgentPlaces, variables: [String: String]) async -> [Phrase] {
        var found: [Phrase] = []
        let state = places.stateDirectory
        if access(state, F_OK) == 0, access(state, W_OK | X_OK) != 0 {
            found.append(
                Phrase(
                    "\(state) is not writable by this user; `ls -ld` shows its owner and permissions, `chmod` or `chown` changes them"
                ))
        }
        guard let configuration = try? ConfigurationFile(places).load() else { return found }
        // With `proxy-only` no TCP port is opened.
        let reach = try? ReachSettings(configuration, environment: variables)
        guard reach?.proxyUse != .only else { return found }
        for text in configuration.listen {
            guard let address = try? LinkAddress(parsing: text), case .tcp = address else { continue }
            do {
                let listener = try await TCPTransport().listen(on: address) { channel, _ in
                    channel.eventLoop.makeSucceededVoidFuture()
                }
                await listener.close()
            } catch let error as LinkError {
                found.append(error.text)
            } catch {
                found.append(Phrase("cannot listen on \(text): \(String(describing: error))"))
            }
        }
        return found
    }
}
