import BlockExchange
import ControlAPI
import Phrases

/// What people read of a test of how this device is reached.
enum ReachTestWords {
    static func outcome(_ outcome: ReachAnswer.Outcome) -> String {
        switch outcome {
        case .reached: "reached"
        case .refused: "refused"
        case .timedOut: "timed-out"
        case .otherDevice: "other-device"
        case .unreachable: "unreachable"
        case .notTried, .privateAddress, .notAllowed, .proxy, .unknownHost, .unusable, .busy: "not-tried"
        }
    }

    /// As the part of a sentence behind the address.
    static func message(_ outcome: ReachAnswer.Outcome) -> Phrase {
        switch outcome {
        case .reached: Phrase("connected")
        case .refused: Phrase("connection refused")
        case .timedOut: Phrase("timed out")
        case .otherDevice: Phrase("another device or program answers")
        case .unreachable: Phrase("it has no route to this address")
        case .notTried: Phrase("it gave no reason")
        case .privateAddress: Phrase("the address is private and it is in another network")
        case .notAllowed: Phrase("its `allowed-networks` for this device exclude the address")
        case .proxy: Phrase("it connects through a proxy")
        case .unknownHost: Phrase("its connection does not show the address of this device")
        case .unusable: Phrase("it does not test such addresses")
        case .busy: Phrase("it has too many connection attempts under way")
        }
    }

    /// Why a device tested nothing.
    static func problem(_ refusal: ReachAnswer.Refusal) -> Phrase {
        switch refusal {
        case .busy: Phrase("it is already testing addresses of this device; try again when that is done")
        case .tooSoon: Phrase("it tests addresses once every 10 s; try again later")
        case .unavailable: Phrase("it tests no addresses at the moment")
        }
    }

    static let noAnswer = Phrase("it did not answer in time; try again")
    static let linkLost = Phrase("the connection was lost; try again")

    /// Why nobody can be asked.
    ///
    /// - Parameters:
    ///   - connected: the names of the devices that are connected and take no tests.
    ///   - isListening: whether there is an address to test.
    static func nobody(connected: [String], isListening: Bool) -> Phrase {
        guard isListening else {
            return Phrase(
                "This device does not listen for TCP connections, so other devices can use only a relay or Bluetooth. "
                    + "`listen` and `proxy-only` in config.toml change that.")
        }
        guard let first = connected.first else {
            return Phrase(
                "No device is connected that could test the addresses. Connect one, best from another network.")
        }
        let names = connected.count == 1 ? "\(first)" : Phrase("\(first) and \(connected.count - 1) more")
        return Phrase(
            "\(names): connected, but only synctrain devices test addresses, from version 0.1 on. Connect or update one."
        )
    }

    static func relay(_ relays: [ReachReport.Relay]) -> ReachTest.Relay {
        if let joined = relays.first(where: { $0.state == "joined" }) {
            return ReachTest.Relay(
                isReachable: true,
                message: Phrase("\(name(joined)) is joined; other devices reach this one over it"))
        }
        guard let first = relays.first else {
            return ReachTest.Relay(
                isReachable: false,
                message: Phrase("relays are off; switch them on with `synctrain network --relays on`"))
        }
        return ReachTest.Relay(
            isReachable: false, message: "\(name(first)): \(first.problemPhrase ?? "\(first.state)")")
    }

    /// A relay as people know it: its host and port, and where it comes from if that is a list.
    private static func name(_ relay: ReachReport.Relay) -> Phrase {
        func host(_ url: String) -> String {
            let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
            return String(rest.prefix { $0 != "/" && $0 != "?" })
        }
        guard let address = relay.address else { return "\(host(relay.source))" }
        return relay.source.hasPrefix("dynamic+")
            ? Phrase("\(host(address)) (from \(host(relay.source)))") : "\(host(address))"
    }

    /// What follows from the results, with what to do next.
    ///
    /// - Parameter port: the one to forward, where it is known.
    static func advice(_ devices: [ReachTest.Device], isRelayed: Bool, port: UInt16?) -> Phrase {
        let elsewhere = outcomes(devices.filter { !$0.isLocal })
        let here = outcomes(devices.filter(\.isLocal))
        if elsewhere.contains("reached") { return Phrase("Devices elsewhere can connect to this one directly.") }
        let isPortOpenHere = here.contains("reached")
        if elsewhere.contains("other-device") {
            let advice = Phrase(
                "The router forwards the port to another device or program. Correct the forwarding in the router.")
            return "\(advice) \(meanwhile(isRelayed))"
        }
        if elsewhere.contains("refused") || elsewhere.contains("timed-out") || elsewhere.contains("unreachable") {
            let cause =
                isPortOpenHere
                ? Phrase("Your router does not forward the port.")
                : Phrase("Your router or a firewall blocks the port.")
            let remedy = Phrase(
                "Forward \(name(port)) to this machine, or enable UPnP, NAT-PMP or PCP in the router.")
            return "\(cause) \(remedy) \(meanwhile(isRelayed))"
        }
        if isPortOpenHere {
            return Phrase(
                "Devices in this network can connect to this one. To test it from elsewhere, connect a device in another network."
            )
        }
        if !here.isDisjoint(with: ["refused", "timed-out", "unreachable"]) {
            return Phrase(
                "Not even devices in this network can connect. Allow \(name(port)) in the firewall of this machine.")
        }
        let advice = Phrase("No address was tested. Connect a synctrain device directly, best from another network.")
        return "\(advice) \(meanwhile(isRelayed))"
    }

    private static func name(_ port: UInt16?) -> Phrase { port.map { Phrase("TCP port \($0)") } ?? Phrase("the port") }

    private static func meanwhile(_ isRelayed: Bool) -> Phrase {
        isRelayed
            ? Phrase("Until then, devices elsewhere use the relay.")
            : Phrase("A relay helps, too: `synctrain network --relays on`.")
    }

    private static func outcomes(_ devices: [ReachTest.Device]) -> Set<String> {
        Set(devices.flatMap(\.results).map(\.outcome))
    }
}
