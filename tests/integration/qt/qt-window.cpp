/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "qt-window.h"

#include <desktrace/qt.hpp>

void Window::render_frame() {
        emit beforeSynchronizing();
        emit afterSynchronizing();
        emit beforeRendering();
        desktrace::qt::instant(desktrace::qt::frames_category, "drawn");
        emit afterRendering();
        emit frameSwapped();
}
