import ControlAPI
import PeerLinks

/// Says how this device is reached from elsewhere, and what was tried to reach others.
struct ReachRequests: RequestGroup {
    let reach: (any WideReach)?
    let devices: DeviceRegistry

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.reach) {
            var report = await reach?.report ?? ReachReport()
            report.devices = devices.all.map(\.reachReport)
            return report
        }
    }
}
