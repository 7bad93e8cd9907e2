// Menu items for files in Dolphin.
#include "helper.h"

#include <KAbstractFileItemActionPlugin>
#include <KFileItemListProperties>
#include <KPluginFactory>

#include <QAction>
#include <QIcon>
#include <QUrl>

namespace
{
// Milliseconds that a menu waits for its items: what is shown is known by then, and nothing is offered for what is not.
const int patience = 250;
}

class SynctrainMenu : public KAbstractFileItemActionPlugin
{
    Q_OBJECT

public:
    SynctrainMenu(QObject *parent, const QVariantList &)
        : KAbstractFileItemActionPlugin(parent)
        , m_helper(Helper::shared())
    {
    }

    QList<QAction *> actions(const KFileItemListProperties &files, QWidget *parent) override
    {
        QStringList paths;
        const auto urls = files.urlList();
        for (const QUrl &url : urls) {
            if (!url.isLocalFile())
                return {};
            paths += url.adjusted(QUrl::StripTrailingSlash).toLocalFile();
        }
        const int number = ++m_number;
        QJsonArray items;
        QMetaObject::invokeMethod(m_helper, "menu", Q_RETURN_ARG(QJsonArray, items), Q_ARG(QStringList, paths), Q_ARG(int, number),
                                  Q_ARG(int, patience));
        QList<QAction *> actions;
        for (const auto &value : qAsConst(items)) {
            const auto item = value.toObject();
            const QString name = item.value(QLatin1String("action")).toString();
            auto *action = new QAction(QIcon::fromTheme(QStringLiteral("synctrain")), item.value(QLatin1String("label")).toString(), parent);
            action->setToolTip(item.value(QLatin1String("tip")).toString());
            connect(action, &QAction::triggered, m_helper, [helper = m_helper, number, name] {
                QMetaObject::invokeMethod(helper, "choose", Q_ARG(int, number), Q_ARG(QString, name));
            });
            actions += action;
        }
        return actions;
    }

private:
    QObject *m_helper;
    int m_number = 0;
};

K_PLUGIN_CLASS_WITH_JSON(SynctrainMenu, "menu.json")

#include "menu.moc"
