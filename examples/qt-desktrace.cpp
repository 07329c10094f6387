/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A Qt program: each event that is delivered, and how long the event loop waits between them, an animation with its
 * frames, and work on the thread pool with arrows from and to the objects that wait for it. Needs no moc.
 *
 *      qt-desktrace [--seconds N]
 *
 * Without a display, as QtCore is all that it uses; a QApplication or QGuiApplication has the same notify().
 */

#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEvent>
#include <QMetaEnum>
#include <QRunnable>
#include <QThread>
#include <QThreadPool>
#include <QTimer>
#include <QVariantAnimation>

#include <desktrace/track-event.hpp>

DT_CATEGORY(events, "qt.events", "Events and who gets them");
DT_CATEGORY(frames, "frames", "Frames of the animation");
DT_CATEGORY(jobs, "jobs", "Work on the thread pool");

/* Every event goes through notify(), those within other events and within nested event loops, too. */
class TracedApplication : public QCoreApplication {
      public:
        TracedApplication(int &argc, char **argv) : QCoreApplication(argc, argv) {
                auto *dispatcher = QAbstractEventDispatcher::instance();

                connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, this, [this] {
                        if (!is_waiting)
                                DT_SLICE_BEGIN(events, "wait");
                        is_waiting = true;
                });
                connect(dispatcher, &QAbstractEventDispatcher::awake, this, [this] { end_wait(); });
        }

        bool notify(QObject *receiver, QEvent *event) override {
                static const QMetaEnum types = QMetaEnum::fromType<QEvent::Type>();
                const char *type = types.valueToKey(event->type());

                if (QThread::currentThread() == thread())
                        end_wait(); // not every dispatcher says at once that it is awake
                DT_SLICE(events,
                         type ? type : "event",
                         DT_STRING_INTERNED("receiver", receiver->metaObject()->className()));
                return QCoreApplication::notify(receiver, event);
        }

      private:
        void end_wait() {
                if (is_waiting)
                        DT_SLICE_END(events);
                is_waiting = false;
        }

        bool is_waiting = false;
};

/* Runs on the pool, and tells the main thread. */
class Job : public QRunnable {
      public:
        explicit Job(quint64 number) : number(number), flow(dt_flow_id(number)) {
                desktrace::Slice slice(jobs, "submit", { { "job", number }, DT_FLOW(flow) });
        }

        void run() override {
                dt_thread_set_name("pool");
                desktrace::Slice slice(jobs, "run", { DT_FLOW(flow) });
                const quint64 number = this->number, flow = this->flow;

                QThread::msleep(2);
                QMetaObject::invokeMethod(
                        qApp,
                        [number, flow] {
                                desktrace::instant(jobs, "result", { DT_FLOW_END(flow) });
                                desktrace::count(jobs, "jobs done", static_cast<int>(number));
                        },
                        Qt::QueuedConnection);
        }

      private:
        quint64 number, flow;
};

int main(int argc, char **argv) {
        const double seconds = argc == 3 ? QByteArray(argv[2]).toDouble() : 5;

        dt_init(nullptr);
        dt_thread_set_name("Qt");
        TracedApplication application(argc, argv);
        QVariantAnimation animation;
        QElapsedTimer since_frame;
        quint64 number = 0;

        animation.setStartValue(0.0);
        animation.setEndValue(1.0);
        animation.setDuration(500);
        animation.setLoopCount(-1);
        QObject::connect(&animation, &QVariantAnimation::valueChanged, [&](const QVariant &value) {
                desktrace::Slice slice(frames, "frame", { { "progress", value.toDouble() } });

                if (since_frame.isValid() && since_frame.nsecsElapsed() > 0)
                        desktrace::count(frames, "frame rate", 1e9 / since_frame.nsecsElapsed());
                since_frame.start();
                if (++number % 4 == 0)
                        QThreadPool::globalInstance()->start(new Job(number));
        });
        animation.start();
        QTimer::singleShot(static_cast<int>(seconds * 1000), &application, &QCoreApplication::quit);
        const int status = application.exec();
        QThreadPool::globalInstance()->waitForDone();
        return status;
}
