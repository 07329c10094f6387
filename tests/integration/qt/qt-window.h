/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <QObject>

/* Has the signals of a QQuickWindow, in their order. */
class Window : public QObject {
        Q_OBJECT

      public:
        void render_frame();

      signals:
        void beforeSynchronizing();
        void afterSynchronizing();
        void beforeRendering();
        void afterRendering();
        void frameSwapped();
};
