import ArgumentParser
import ControlAPI
import Phrases

struct IDCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "id", abstract: translated("Print this device's id."))
    }

    @Flag(help: ArgumentHelp(translated("Show a QR code as well.")))
    var qr = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try context.checkSetUp(.invalidConfiguration)
        let id = try context.environment.deviceID(try context.places())
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(DeviceAnswer(device: id)))
            return
        }
        if qr {
            for line in QRCode.lines(try QRCode.modules(id), hasColor: context.style.hasColor) {
                try context.output.print(line)
            }
        }
        try context.output.print(id)
    }
}
