import GhostDrop
import Transport

extension Dialler {
    /// A v1 link over single GATT values: pieces of files are written without response, all else with one.
    func legacyGATT(_ device: String) async throws(LinkFailure) -> Output {
        let facts = core.client.facts
        let sockets: (notify: (Descriptor, Int), write: (Descriptor, Int))
        guard let data = facts.tree.characteristic(SurfaceUUID.data, of: device),
            let control = facts.tree.characteristic(SurfaceUUID.control, of: device)
        else {
            throw LinkFailure(
                LinkError(.refused, "\(peer) takes no files by GATT; update its GhostDrop app", isTransient: true))
        }
        do {
            let notify = try await socket("AcquireNotify", data)
            sockets = (notify, try await socket("AcquireWrite", data))
        } catch {
            throw LinkFailure(error)
        }
        let (core, peer) = (core, peer)
        return try await start(.gatt, device) { stream, connected in
            {
                connected(.success(()))
                let outcome = LegacyPump(
                    inlet: .socket(sockets.notify.0), bulk: .socket(sockets.write.0),
                    control: .call { value in
                        core.client.bus.post(
                            BusCall(
                                BlueZ.service, control, BlueZ.characteristic, "WriteValue",
                                [.bytes(value), .properties(["type": .string("request")])]))
                    }, valueLimit: GATTPump.packetLimit(mtu: min(sockets.write.1, sockets.notify.1))
                ).run(stream)
                core.logger.debug(
                    "Bluetooth: a v1 link has ended.", metadata: ["peer": "\(peer)", "how": "\(outcome)"])
            }
        }
    }

    /// A packet socket of bluetoothd's for a characteristic, and the link's MTU.
    private func socket(_ method: String, _ path: String) async throws -> (Descriptor, Int) {
        do {
            let answer = try await core.client.call(
                path, BlueZ.characteristic, method, [.properties([:])],
                timeout: max(.zero, deadline - ContinuousClock.now))
            guard answer.count == 2, let socket = answer[0].openDescriptor, let mtu = answer[1].number else {
                throw LinkError(.failed, "bluetoothd gave no socket for \(peer)", isTransient: true)
            }
            do throws(SystemError) { try socket.makeNonBlocking() } catch { throw LinkError(connecting: peer, error) }
            return (socket, mtu)
        } catch let error as BusError {
            throw LinkError(asking: peer, error)
        }
    }
}
