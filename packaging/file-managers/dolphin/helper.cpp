#include "helper.h"

#include <QCoreApplication>
#include <QJsonDocument>
#include <QProcessEnvironment>
#include <QStandardPaths>
#include <QVariant>

namespace
{
const char sharedName[] = "synctrain-helper";
// Bytes: of a line, and of what the program has not taken yet.
const qint64 lineLimit = 4 << 20;
// Milliseconds until a program that has ended is started again.
const qint64 pause = 30000;
}

QObject *Helper::shared()
{
    auto *application = QCoreApplication::instance();
    auto *known = application->property(sharedName).value<QObject *>();
    if (!known) {
        known = new Helper(application);
        application->setProperty(sharedName, QVariant::fromValue(known));
    }
    return known;
}

Helper::Helper(QObject *parent)
    : QObject(parent)
{
    connect(&m_process, &QProcess::readyReadStandardOutput, this, &Helper::read);
    connect(&m_process, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), this, [this] {
        m_rest.clear();
        Q_EMIT ended();
    });
    start();
}

bool Helper::start()
{
    if (m_process.state() != QProcess::NotRunning)
        return true;
    if (m_started.isValid() && m_started.elapsed() < pause)
        return false;
    m_started.start();
    const QString module = QStandardPaths::locate(QStandardPaths::GenericDataLocation,
                                                  QStringLiteral("synctrain/file-managers/synctrain_files"),
                                                  QStandardPaths::LocateDirectory);
    if (module.isEmpty())
        return false;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("PYTHONPATH"), module.left(module.lastIndexOf(QLatin1Char('/'))));
    m_process.setProcessEnvironment(environment);
    m_process.setProcessChannelMode(QProcess::SeparateChannels);
    m_process.setStandardErrorFile(QProcess::nullDevice());
    m_process.start(QStringLiteral("/usr/bin/python3"), {QStringLiteral("-m"), QStringLiteral("synctrain_files.helper")});
    return true;
}

bool Helper::send(const QJsonObject &order)
{
    // A program that takes nothing has stopped: nothing is claimed then, and nothing is kept for it.
    if (!start() || m_process.bytesToWrite() >= lineLimit)
        return false;
    return m_process.write(QJsonDocument(order).toJson(QJsonDocument::Compact) + '\n') >= 0;
}

bool Helper::look(const QString &path)
{
    return send({{QStringLiteral("look"), path}});
}

void Helper::hide(const QString &path)
{
    send({{QStringLiteral("hide"), path}});
}

QJsonArray Helper::menu(const QStringList &paths, int number, int patience)
{
    m_awaited = number;
    m_hasMenu = false;
    m_menu = {};
    send({{QStringLiteral("menu"), QJsonArray::fromStringList(paths)}, {QStringLiteral("id"), number}});
    QElapsedTimer timer;
    timer.start();
    // A time below zero would be no limit.
    for (qint64 rest = patience; rest > 0 && !m_hasMenu && m_process.state() != QProcess::NotRunning; rest = patience - timer.elapsed())
        m_process.waitForReadyRead(int(rest));
    m_awaited = -1;
    return m_menu;
}

void Helper::choose(int number, const QString &action)
{
    send({{QStringLiteral("choose"), number}, {QStringLiteral("action"), action}});
}

void Helper::read()
{
    m_rest += m_process.readAllStandardOutput();
    for (int end = m_rest.indexOf('\n'); end >= 0; end = m_rest.indexOf('\n')) {
        const QByteArray line = m_rest.left(end);
        m_rest.remove(0, end + 1);
        take(QJsonDocument::fromJson(line).object());
    }
    if (m_rest.size() > lineLimit)
        m_process.kill();
}

void Helper::take(const QJsonObject &line)
{
    const QJsonValue path = line.value(QLatin1String("path"));
    if (path.isString()) {
        Q_EMIT emblemChanged(path.toString(), line.value(QLatin1String("emblem")).toString());
    } else if (m_awaited >= 0 && line.value(QLatin1String("menu")).toInt(-1) == m_awaited) {
        m_menu = line.value(QLatin1String("items")).toArray();
        m_hasMenu = true;
    }
}
