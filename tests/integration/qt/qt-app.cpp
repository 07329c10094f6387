/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What <desktrace/qt.hpp> has: qt.sh counts what comes of it. Two files include it, as programs do. */

#include <QCoreApplication>
#include <QLoggingCategory>
#include <QString>
#include <QTimer>

#include <desktrace/qt.hpp>

#include "qt-window.h"

DT_CATEGORY(app, "qt-app", "What this test does");

static void step(int number) {
        const QString name = QStringLiteral("größe %1").arg(number);
        desktrace::qt::Slice slice(app,
                                   "step",
                                   { { "number", number },
                                     { "name", name },
                                     { "bytes", QByteArray("of a QByteArray") },
                                     { "plain", "of a literal" },
                                     { "object", qApp },
                                     { "size", Q_INT64_C(3) },
                                     { "share", 0.5 },
                                     { "flag", true },
                                     { "none", static_cast<const char *>(nullptr) },
                                     DT_FLOW(dt_flow_id(7)) });

        slice.add({ { "at the end", QString(QStringLiteral("text of the end")) },
                    { "copied", QByteArray("bytes of the end").constData() } });
        desktrace::qt::instant(app, QStringLiteral("instant"), { { "name", name } });
        desktrace::count(app, "steps", number);
}

int main(int argc, char **argv) {
        dt_init(nullptr);
        dt_thread_set_name("Qt's thread");
        desktrace::qt::Application<QCoreApplication> application(argc, argv);
        desktrace::qt::EventLoop loop;
        Window window;
        const auto *frames = new desktrace::qt::QuickFrames(&window);
        const desktrace::qt::QuickFrames none(&application);
        QTimer timer;
        int number = 0;

        if (!frames->is_connected() || none.is_connected())
                qFatal("frames are not connected as they should be");
        desktrace::qt::trace_messages();
        desktrace::qt::trace_messages();
        QObject::connect(&timer, &QTimer::timeout, [&] {
                step(++number);
                window.render_frame();
                if (number == 20)
                        QCoreApplication::quit();
        });
        timer.start(2);
        const int status = QCoreApplication::exec();
        qInfo("the time is up");
        return status;
}
