/// Names of BlueZ's D-Bus interface (doc/*-api.txt of BlueZ) and of what this program shows on the bus.
enum BlueZ {
    static let service = "org.bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let remoteService = "org.bluez.GattService1"
    static let characteristic = "org.bluez.GattCharacteristic1"
    static let applications = "org.bluez.GattManager1"
    static let advertising = "org.bluez.LEAdvertisingManager1"
    static let advertisement = "org.bluez.LEAdvertisement1"

    static let objects = "org.freedesktop.DBus.ObjectManager"
    static let properties = "org.freedesktop.DBus.Properties"
    static let bus = "org.freedesktop.DBus"
    static let busPath = "/org/freedesktop/DBus"
}

/// The service and its characteristics, as GhostDrop has them; BlueZ writes UUIDs in lower case.
enum SurfaceUUID {
    static let service = "bfa6e968-0f36-4888-8f63-c8ec01385e67"
    static let data = "a0f2fa1d-f0e6-43f3-8b8a-642d7e6a0603"
    static let control = "a0f2fa1d-f0e6-43f3-8b8a-642d7e6a0604"
    static let capabilities = "a0f2fa1d-f0e6-43f3-8b8a-642d7e6a0605"
}
