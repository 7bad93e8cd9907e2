// Emblems of files in Dolphin.
#include "helper.h"

#include <KOverlayIconPlugin>

#include <QHash>
#include <QQueue>
#include <QUrl>

namespace
{
// Fewer than the helper remembers (view.SHOWN): it must know each path that has an emblem here.
const int pathLimit = 4000;
}

class SynctrainOverlay : public KOverlayIconPlugin
{
    Q_OBJECT
    Q_PLUGIN_METADATA(IID "org.kde.overlayicon.synctrain" FILE "overlay.json")

public:
    SynctrainOverlay()
        : m_helper(Helper::shared())
    {
        connect(m_helper, SIGNAL(emblemChanged(QString, QString)), this, SLOT(setEmblem(QString, QString)));
        connect(m_helper, SIGNAL(ended()), this, SLOT(forget()));
    }

    QStringList getOverlays(const QUrl &url) override
    {
        if (!url.isLocalFile())
            return {};
        const QString path = url.adjusted(QUrl::StripTrailingSlash).toLocalFile();
        const auto known = m_emblems.constFind(path);
        if (known != m_emblems.constEnd())
            return overlays(*known);
        bool isAsked = false;
        QMetaObject::invokeMethod(m_helper, "look", Q_RETURN_ARG(bool, isAsked), Q_ARG(QString, path));
        // Dolphin asks again when it shows the file again.
        if (!isAsked)
            return {};
        m_emblems.insert(path, QString());
        m_paths.enqueue(path);
        while (m_paths.size() > pathLimit) {
            const QString oldest = m_paths.dequeue();
            m_emblems.remove(oldest);
            QMetaObject::invokeMethod(m_helper, "hide", Q_ARG(QString, oldest));
        }
        return {};
    }

private Q_SLOTS:
    void setEmblem(const QString &path, const QString &emblem)
    {
        const auto known = m_emblems.find(path);
        if (known == m_emblems.end() || *known == emblem)
            return;
        *known = emblem;
        Q_EMIT overlaysChanged(QUrl::fromLocalFile(path), overlays(emblem));
    }

    void forget()
    {
        const auto emblems = m_emblems;
        m_emblems.clear();
        m_paths.clear();
        for (auto each = emblems.cbegin(); each != emblems.cend(); ++each) {
            if (!each->isEmpty())
                Q_EMIT overlaysChanged(QUrl::fromLocalFile(each.key()), {});
        }
    }

private:
    static QStringList overlays(const QString &emblem)
    {
        // As the icons are called; GNOME puts the first word before names itself.
        return emblem.isEmpty() ? QStringList() : QStringList{QStringLiteral("emblem-") + emblem};
    }

    QObject *m_helper;
    QHash<QString, QString> m_emblems;
    QQueue<QString> m_paths;
};

#include "overlay.moc"
