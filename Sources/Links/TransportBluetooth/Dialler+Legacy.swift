import GhostDrop
import MessageBus
import Transport

extension Dialler {
    /// A v1 link over single GATT values: pieces of files are written without response, all else with one.
    func legacyGATT(_ device: String) async throws(LinkFailure) -> Output {
        let facts = core.client.facts
        guard let data = facts.tree.characteristic(SurfaceUUID.data, of: device),
            let control = facts.tree.characteristic(SurfaceUUID.control, of: device)
        else {
            throw LinkFailure(
                LinkError(
                    .refused, "\(peer) does not accept files over GATT; update its GhostDrop app", isTransient: true))
        }
        let way: ValueWay
        do {
            way = try await ValueWay.open(to: data, core: core, limit: max(.zero, deadline - ContinuousClock.now))
        } catch let error as BusError {
            throw LinkFailure(LinkError(asking: peer, error))
        } catch let error as SystemError {
            throw LinkFailure(LinkError(connecting: peer, error))
        } catch {
            throw LinkFailure(error)
        }
        let (core, peer) = (core, peer)
        return try await start(.gatt, device) { stream, connected in
            {
                connected(.success(()))
                let outcome = LegacyPump(
                    inlet: way.inlet, bulk: way.outlet, control: .call(ValueWay.requests(to: control, core.client)),
                    valueLimit: GATTPump.packetLimit(mtu: way.mtu)
                ).run(stream)
                way.close()
                core.logger.debug(
                    "Bluetooth: a v1 link has ended.", metadata: ["peer": "\(peer)", "how": "\(outcome)"])
            }
        }
    }
}

extension ValueWay {
    /// Writes values with response, in their order: bluetoothd is asked for one at a time.
    static func requests(to path: String, _ client: BlueZClient) -> @Sendable ([UInt8]) -> Bool {
        calls(to: path, client, type: "request", limit: 1)
    }
}
