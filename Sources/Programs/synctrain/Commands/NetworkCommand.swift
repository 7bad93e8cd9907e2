import ArgumentParser
import ControlAPI
import Phrases

/// On or off, as an option's value.
enum OnOff: String, ExpressibleByArgument, CaseIterable {
    case on, off

    var isOn: Bool { self == .on }
}

struct NetworkCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "network", abstract: translated("Show or change how devices find and reach each other."),
            discussion: translated(
                """
                Discovery servers learn this device's id and addresses and which devices it asks for; relays forward \
                encrypted data that they cannot read, and see which devices connect. Both learn no names, folders or files. \
                Servers, proxy and the number of connections are set in config.toml.

                Example: synctrain network --global-discovery off --relays off
                """))
    }

    @Option(help: ArgumentHelp(translated("Discovery on the local network: on or off."), valueName: "on|off"))
    var localDiscovery: OnOff?

    @Option(help: ArgumentHelp(translated("Discovery servers: on or off."), valueName: "on|off"))
    var globalDiscovery: OnOff?

    @Option(help: ArgumentHelp(translated("Relays: on or off."), valueName: "on|off"))
    var relays: OnOff?

    @Option(
        help: ArgumentHelp(
            translated("Port forwarding by the router (UPnP, NAT-PMP, PCP): on or off."), valueName: "on|off"))
    var portMapping: OnOff?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let change = NetworkChange(
            localDiscovery: localDiscovery?.isOn, globalDiscovery: globalDiscovery?.isOn, relays: relays?.isOn,
            portMapping: portMapping?.isOn)
        if !change.isEmpty {
            let restart = try await context.set(change)
            if !restart.isEmpty {
                try context.remark(translated("Restart the agent to apply: \(restart.joined(separator: ", "))."))
            }
        }
        let settings = try await context.network()
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(settings))
        } else {
            for line in NetworkRendering(style: context.style).lines(settings) { try context.output.print(line) }
        }
    }
}

extension CommandContext {
    /// Changes the network's settings; answers with what needs a restart of the agent.
    fileprivate func set(_ change: NetworkChange) async throws -> [String] {
        let places = try places()
        do {
            return try await environment.connect(places).call(Endpoints.setNetwork, change).restart
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            try await environment.edit(places, .setNetwork(change))
            return []
        }
    }

    fileprivate func network() async throws -> NetworkSettings {
        do {
            return try await agent().call(Endpoints.network)
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            return try environment.configured(try places()).network
        }
    }
}
