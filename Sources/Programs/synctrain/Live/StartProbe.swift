import AgentConfiguration
import Glibc
import LinkSecurity
import NIOCore
import Phrases
import Reachability
import SyncAgent
import Transport
import TransportTCP

/// Tries what an agent does first when it starts, while none runs.
enum StartProbe {
    /// Why it could not start. What is wrong with the configuration is said elsewhere.
    static func hindrances(_ places: AgentPlaces, variables: [String: String]) async -> [Phrase] {
        // Whatever else is found then comes from that agent, which has the port.
        if let process = AgentProcess.unreached((try? AgentLock.holder(in: places))?.process) {
            return [
                Phrase(
                    "process \(process) is the agent already and does not answer on \(places.controlSocket); `synctrain agent stop` ends it"
                )
            ]
        }
        var found: [Phrase] = []
        let state = places.stateDirectory
        if access(state, F_OK) == 0, access(state, W_OK | X_OK) != 0 {
            found.append(
                Phrase(
                    "\(state) is not writable by this user; `ls -ld` shows its owner and permissions, `chmod` or `chown` changes them"
                ))
        }
        found += [identityObstacle(places), linkKeyObstacle(places), IndexProbe.obstacle(places)].compactMap { $0 }
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

    private static func identityObstacle(_ places: AgentPlaces) -> Phrase? {
        do {
            let files = try DeviceIdentityFiles.load(from: places)
            _ = try LinkIdentity(certificatePEM: files.certificatePEM, keyPEM: files.privateKeyPEM)
            return nil
        } catch let error as ConfigurationError {
            return error.located
        } catch {
            return Phrase(of: error)
        }
    }

    private static func linkKeyObstacle(_ places: AgentPlaces) -> Phrase? {
        // Where there is none, reading makes one.
        guard access(places.linkKey, F_OK) == 0 else { return nil }
        do throws(ConfigurationError) {
            _ = try LinkKeyFile.load(from: places)
            return nil
        } catch {
            return error.located
        }
    }
}
