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
            let notify = try await acquire("AcquireNotify", data)
            sockets = (notify, try await acquire("AcquireWrite", data))
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
}
