// The Python program that knows what files look like (synctrain_files/helper.py), one for each Dolphin.
#pragma once

#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonObject>
#include <QObject>
#include <QProcess>
#include <QStringList>

class Helper : public QObject
{
    Q_OBJECT

public:
    /// That of this process. The two plugins are libraries of their own, so they know each other's by the application alone: as a
    /// QObject, by the names of its methods and signals.
    static QObject *shared();

    /// Has a path's emblem told, now and whenever it is another one. False if there is nobody to ask.
    Q_INVOKABLE bool look(const QString &path);
    /// Ends that.
    Q_INVOKABLE void hide(const QString &path);
    /// The menu items for some paths, each with `action`, `label` and `tip`; none where the answer takes longer than so many
    /// milliseconds. `number` names them to `choose`.
    Q_INVOKABLE QJsonArray menu(const QStringList &paths, int number, int patience);
    Q_INVOKABLE void choose(int number, const QString &action);

Q_SIGNALS:
    /// No emblem for an empty one.
    void emblemChanged(const QString &path, const QString &emblem);
    /// All that was told is void: the program has ended.
    void ended();

private:
    explicit Helper(QObject *parent);
    bool start();
    bool send(const QJsonObject &order);
    void read();
    void take(const QJsonObject &line);

    QProcess m_process;
    QElapsedTimer m_started;
    QByteArray m_rest;
    int m_awaited = -1;
    bool m_hasMenu = false;
    QJsonArray m_menu;
};
