/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track events in Qt programs: <desktrace/track-event.hpp> with Qt's types and hooks into Qt
 *
 *      #include <desktrace/qt.hpp>
 *
 *      DT_CATEGORY(load, "load", "Reading files");
 *
 *      int main(int argc, char **argv) {
 *              dt_init(nullptr);
 *              desktrace::qt::Application<QGuiApplication> application(argc, argv);    // records events
 *              desktrace::qt::EventLoop loop;                  // how long this thread waits and works
 *              desktrace::qt::QuickFrames frames(&window);     // a QQuickWindow's frames, by phases
 *
 *              desktrace::qt::trace_messages();                // qDebug(), qWarning() and so on
 *              …
 *      }
 *
 *      void read(const QString &name) {
 *              desktrace::qt::Slice slice(load, "read", { { "name", name }, { "size", 4711 } });
 *      }
 *
 * All of it is inline, and uses QtCore alone: it needs no moc, and links neither QtGui nor QtQuick. For Qt 5.15 and 6,
 * in C++17. Any number of files may include it. While nobody records, a text is not even converted to UTF-8.
 */

#include <QAbstractEventDispatcher>
#include <QByteArray>
#include <QCoreApplication>
#include <QEvent>
#include <QMetaEnum>
#include <QMetaMethod>
#include <QObject>
#include <QString>
#include <QThread>
#include <QVarLengthArray>

#include <desktrace/track-event.hpp>

#pragma GCC system_header /* see there */

namespace desktrace {
namespace qt {

/* A category that any number of files may define alike. */
struct Category : dt_category {
        Category(const char *name, const char *description)
            : dt_category{ name, description, nullptr, 0, 0, nullptr } {
                dt_category_register(this);
        }
        ~Category() {
                dt_category_unregister(this);
        }
        Category(const Category &) = delete;
        Category &operator=(const Category &) = delete;
};

#define DT_QT_HIDDEN __attribute__((__visibility__("hidden")))

DT_QT_HIDDEN inline Category events_category("qt.events", "Events that Qt delivers");
DT_QT_HIDDEN inline Category loop_category("qt.loop", "Event loops: waiting and working");
DT_QT_HIDDEN inline Category frames_category("qt.frames", "Frames of Qt Quick and their phases");
DT_QT_HIDDEN inline Category log_category("qt.log", "Messages that the program logs");

/*
 * Arguments
 */

/* An argument of any type that desktrace::Arg has, or a text or object of Qt. What it is made of must live as long as
 * the call that it is given to. */
class Arg {
      public:
        Arg(const dt_arg &arg) : arg_(arg) {
        }
        Arg(const char *name, const QString &value) : arg_(DT_STRING(name, "")), string_(&value) {
        }
        Arg(const char *name, const QByteArray &value) : arg_(DT_STRING(name, value.constData())) {
        }
        /* Its class. */
        Arg(const char *name, const QObject *value)
            : arg_(DT_STRING_INTERNED(name, value ? value->metaObject()->className() : nullptr)) {
        }
        template <typename Value,
                  typename = typename std::enable_if<
                          std::is_constructible<desktrace::Arg, const char *, Value>::value &&
                          !std::is_convertible<Value, const QObject *>::value &&
                          !std::is_convertible<Value, QByteArray>::value>::type>
        Arg(const char *name, Value value) : arg_(desktrace::Arg(name, value)) {
        }
        Arg(const char *name, const char *value) : arg_(DT_STRING(name, value)) {
        }

        /* As the library wants it; `text` has to live as long as the result is used. */
        dt_arg get(QByteArray &text) const {
                dt_arg arg = arg_;

                if (string_) {
                        text = string_->toUtf8();
                        arg.value.as_string = text.constData();
                }
                return arg;
        }
        /* Whether its text is the caller's. */
        bool is_text() const {
                return arg_.type == DT_ARG_STRING && (string_ || arg_.value.as_string);
        }

      private:
        dt_arg arg_;
        const QString *string_ = nullptr;
};

typedef std::initializer_list<Arg> Args;

/* What an event is given, converted. */
class ArgList {
      public:
        explicit ArgList(Args args) {
                add(args, false);
        }
        ArgList() = default;
        ArgList(const ArgList &) = delete;
        ArgList &operator=(const ArgList &) = delete;

        /* With `copy` the texts need not live longer than this call. */
        void add(Args args, bool copy) {
                for (const Arg &arg : args) {
                        QByteArray text;
                        dt_arg got = arg.get(text);

                        if (copy && arg.is_text() && text.isNull())
                                text = QByteArray(got.value.as_string);
                        if (!text.isNull()) /* its bytes stay where they are when it moves */
                                got.value.as_string = text.constData();
                        texts_.append(text);
                        args_.append(got);
                }
        }
        const dt_arg *data() const {
                return args_.constData();
        }
        size_t size() const {
                return static_cast<size_t>(args_.size());
        }

      private:
        QVarLengthArray<dt_arg, 8> args_;
        QVarLengthArray<QByteArray, 8> texts_;
};

/*
 * Events
 */

/* A slice from its construction to the end of its scope. It stays on its thread. */
class Slice {
      public:
        Slice(const dt_category &category, const char *name, Args args = {})
            : category_(dt_category_enabled(&category) ? &category : nullptr) {
                if (category_)
                        begin(name, args);
        }
        Slice(const dt_category &category, const QString &name, Args args = {})
            : category_(dt_category_enabled(&category) ? &category : nullptr) {
                if (category_)
                        begin(name.toUtf8().constData(), args);
        }
        ~Slice() {
                if (category_)
                        dt_slice_end_args(category_, nullptr, nullptr, more_.data(), more_.size());
        }
        Slice(const Slice &) = delete;
        Slice &operator=(const Slice &) = delete;

        /* Arguments for its end. Texts are copied; the arguments' names must live as long as the slice. */
        void add(Args args) {
                if (category_)
                        more_.add(args, true);
        }

      private:
        void begin(const char *name, Args args) {
                const ArgList list(args);

                dt_slice_begin(category_, nullptr, name, list.data(), list.size());
        }

        const dt_category *category_; /* nullptr: nobody recorded it when it began */
        ArgList more_;
};

inline void instant(const dt_category &category, const char *name, Args args = {}) {
        if (!dt_category_enabled(&category))
                return;
        const ArgList list(args);

        dt_instant(&category, nullptr, name, list.data(), list.size());
}

inline void instant(const dt_category &category, const QString &name, Args args = {}) {
        if (dt_category_enabled(&category))
                instant(category, name.toUtf8().constData(), args);
}

/*
 * Hooks
 *
 * What may begin in one function and end in another is on a track of its own below its thread's, or else it would come
 * between the begins and ends of the program's own slices.
 */

/* A QCoreApplication, QGuiApplication or QApplication that records each event that is delivered on its thread, events
 * within events and in nested loops included: a slice with the event's type and its receiver's class. */
template <typename Base> class Application : public Base {
      public:
        using Base::Base;

        bool notify(QObject *receiver, QEvent *event) override {
                if (!dt_category_enabled(&events_category))
                        return Base::notify(receiver, event);
                static const QMetaEnum types = QMetaEnum::fromType<QEvent::Type>();
                const char *type = types.valueToKey(event->type());
                const Slice slice(
                        events_category, type ? type : "event", { { "receiver", receiver } });

                return Base::notify(receiver, event);
        }
};

/* One row of phases, of which each ends where the next one begins. One thread at a time. */
class Phases {
      public:
        Phases(const dt_category &category, const char *track, quint64 id)
            : category_(category), track_(DT_TRACK_UNDER(&dt_thread_track, track, id)) {
        }
        ~Phases() {
                enter(nullptr);
        }
        Phases(const Phases &) = delete;
        Phases &operator=(const Phases &) = delete;

        /* nullptr: none. Entering the phase that it is in does nothing. Names are constants. */
        void enter(const char *name) {
                if (name == name_)
                        return;
                name_ = name;
                if (is_recorded_)
                        DT_SLICE_END_ON(category_, &track_);
                is_recorded_ = name && dt_category_enabled(&category_);
                if (is_recorded_)
                        DT_SLICE_BEGIN_ON(category_, &track_, name);
        }

      private:
        const dt_category &category_;
        const dt_track track_;
        const char *name_ = nullptr;
        bool is_recorded_ = false;
};

/* The event loops of the thread that makes it, on a track "event loop": "wait" and "work". Once for a thread, which
 * has an event dispatcher by then; it goes before its QCoreApplication and with its thread. */
class EventLoop : public QObject {
      public:
        EventLoop() : phases_(loop_category, "event loop", 0) {
                const QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();

                if (!dispatcher)
                        return;
                connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, this, [this] {
                        phases_.enter(wait_);
                });
                connect(dispatcher, &QAbstractEventDispatcher::awake, this, [this] {
                        phases_.enter(work_);
                });
                /* The dispatcher of GLib says that it is awake when all is done: the first event says it before. */
                if (qApp && qApp->thread() == QThread::currentThread())
                        qApp->installEventFilter(this);
        }

        bool eventFilter(QObject *, QEvent *) override {
                phases_.enter(work_);
                return false;
        }

      private:
        static constexpr const char *wait_ = "wait";
        static constexpr const char *work_ = "work";

        Phases phases_;
};

/* A QQuickWindow's frames, by its signals: on the thread that renders them, on a track "frames", "synchronize",
 * "prepare", "render" and "swap", and an instant "presented" of that thread when a frame was swapped. Ends with the
 * window; not to be freed while it renders. */
class QuickFrames : public QObject {
      public:
        explicit QuickFrames(QObject *window)
            : QObject(window),
              phases_(frames_category, "frames", reinterpret_cast<quintptr>(window)) {
                static const char *const signals_[] = { "beforeSynchronizing()",
                                                        "afterSynchronizing()",
                                                        "beforeRendering()",
                                                        "afterRendering()",
                                                        "frameSwapped()" };

                for (int i = 0; i < n_phases_; i++) {
                        const int signal = window->metaObject()->indexOfSignal(signals_[i]);

                        /* As a slot of a class without moc: qt_metacall() below is told. */
                        if (signal >= 0 &&
                            QMetaObject::connect(window,
                                                 signal,
                                                 this,
                                                 QObject::staticMetaObject.methodCount() + i,
                                                 Qt::DirectConnection))
                                n_connected_++;
                }
        }

        /* Whether the object has the signals of a QQuickWindow; if not, nothing is recorded. */
        bool is_connected() const {
                return n_connected_ == n_phases_;
        }

        int qt_metacall(QMetaObject::Call call, int id, void **arguments) override {
                id = QObject::qt_metacall(call, id, arguments);
                if (id < 0 || call != QMetaObject::InvokeMetaMethod || id >= n_phases_)
                        return id;
                static const char *const phases[] = {
                        "synchronize", "prepare", "render", "swap", nullptr
                };

                phases_.enter(phases[id]);
                if (!phases[id])
                        instant(frames_category, "presented");
                return -1;
        }

      private:
        static constexpr int n_phases_ = 5;

        Phases phases_;
        int n_connected_ = 0;
};

DT_QT_HIDDEN inline QtMessageHandler message_handler_before = nullptr;

inline void
trace_message(QtMsgType type, const QMessageLogContext &context, const QString &message) {
        const char *priority = type == QtDebugMsg     ? DT_LOG_DEBUG
                               : type == QtInfoMsg    ? DT_LOG_INFO
                               : type == QtWarningMsg ? DT_LOG_WARNING
                               : type == QtFatalMsg   ? DT_LOG_FATAL
                                                      : DT_LOG_ERROR;
        const QByteArray text = message.toUtf8();
        const QByteArray place = QByteArray(context.file) + ':' + QByteArray::number(context.line);
        const dt_arg args[] = {
                DT_LOG(priority, text.constData()),
                DT_STRING("message", text.constData()),
                context.file ? dt_arg_text(DT_ARG_LOCATION, place.constData(), context.function)
                             : dt_arg_none(),
        };

        dt_instant(&log_category, nullptr, context.category ? context.category : "log", args, 3);
}

inline void
handle_message(QtMsgType type, const QMessageLogContext &context, const QString &message) {
        if (dt_category_enabled(&log_category))
                trace_message(type, context, message);
        if (message_handler_before)
                message_handler_before(type, context, message);
}

/* Records what the program logs with Qt from now on, as instants named after their category; it goes where it went
 * before. To be called on one thread, after a message handler of the program's own is installed; once is enough. */
inline void trace_messages() {
        const QtMessageHandler before = qInstallMessageHandler(handle_message);

        if (before != handle_message)
                message_handler_before = before;
}

} // namespace qt
} // namespace desktrace
