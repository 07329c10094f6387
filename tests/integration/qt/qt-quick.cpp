/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records the frames of a real QQuickWindow, which draws a rectangle in another color 20 times: qt.sh counts them. */

#include <QColor>
#include <QGuiApplication>
#include <QQuickItem>
#include <QQuickWindow>
#include <QSGSimpleRectNode>

#include <desktrace/qt.hpp>

static constexpr int n_frames = 20;

class Square : public QQuickItem {
      public:
        explicit Square(QQuickItem *parent) : QQuickItem(parent) {
                setFlag(ItemHasContents);
                setSize(QSizeF(64, 64));
        }

        QSGNode *updatePaintNode(QSGNode *old_node, UpdatePaintNodeData *) override {
                auto *node = static_cast<QSGSimpleRectNode *>(old_node);

                if (!node)
                        node = new QSGSimpleRectNode();
                node->setRect(boundingRect());
                node->setColor(QColor::fromHsv(n_drawn_++ * 10, 255, 255));
                return node;
        }

      private:
        int n_drawn_ = 0;
};

int main(int argc, char **argv) {
        dt_init(nullptr);
        desktrace::qt::Application<QGuiApplication> application(argc, argv);
        QQuickWindow window;
        const auto *frames = new desktrace::qt::QuickFrames(&window);
        Square square(window.contentItem());
        int n_swapped = 0;

        if (!frames->is_connected())
                qFatal("a QQuickWindow has other signals");
        QObject::connect(
                &window,
                &QQuickWindow::frameSwapped,
                &application,
                [&] {
                        if (++n_swapped == n_frames)
                                QGuiApplication::quit();
                        else
                                square.update();
                },
                Qt::QueuedConnection);
        window.resize(64, 64);
        window.show();
        return QGuiApplication::exec();
}
