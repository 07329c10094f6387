#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Call stacks of programs of GTK 4, Qt 6 and Go, as far as these are installed: what they do all the time has the
# functions that called each other, up to the first. While they start, a few end in what has no tables, such as the
# libraries of data that ICU is made of. tests/machines has a system where all of them are.
# The checks call functions by name.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/integration/stacks-lib.sh
. "$(dirname "$0")/stacks-lib.sh"

export HOME=$PWD/home
mkdir home

# Its own functions have no names where Debian has stripped them, but those have that libraries export.
if command -v gtk4-demo >/dev/null && command -v xvfb-run >/dev/null && command -v xauth >/dev/null; then
        # A machine that hardly lets it begin is tried again, for longer.
        drawing() {
                local seconds
                for seconds in 6 15 30; do
                        record gtk.pftrace gtk4-demo sh -c "xvfb-run -a -s '-screen 0 1024x768x24' \
                                env GDK_BACKEND=x11 GSK_RENDERER=cairo \
                                timeout -k 5 $seconds gtk4-demo --run=fishbowl; true" || return
                        under gtk.pftrace gsk_renderer_render % | grep -q only || return 0
                done
        }
        ok 'a GTK 4 program is sampled' drawing
        gives 'GTK 4: to the end' "$MOST" complete gtk.pftrace
        gives 'GTK 4: what draws is called by its main loop' "$NEARLY_ALL" under gtk.pftrace gsk_renderer_render \
                '%<g_main_context_iteration<g_application_run<%<__libc_start_main'
else
        skip_check 'a GTK 4 program is sampled' 'gtk4-demo or Xvfb is not installed'
fi

cat >qt-world.cpp <<'CPP'
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>

class Picture : public QObject {
public:
        Picture() : image(200, 200, QImage::Format_ARGB32_Premultiplied) {
                begun.start();
                startTimer(0);
        }

protected:
        void timerEvent(QTimerEvent *) override;

private:
        QElapsedTimer begun;
        QImage image;
};

void Picture::timerEvent(QTimerEvent *) {
        QPainter painter(&image);

        painter.setRenderHint(QPainter::Antialiasing);
        for (int i = 0; i < 100; i++)
                painter.drawEllipse(QPointF(100, 100), i % 97, i % 89);
        if (begun.elapsed() > 600)
                QCoreApplication::quit();
}

int main(int n, char **arguments) {
        QGuiApplication application(n, arguments);
        Picture picture;

        return application.exec();
}
CPP
# shellcheck disable=SC2046 # several options
if g++ -std=c++17 -O2 -fPIC -Wl,--build-id -o qt-world qt-world.cpp \
        $(pkg-config --cflags --libs Qt6Gui) 2>/dev/null; then
        export QT_QPA_PLATFORM=offscreen
        ok 'a Qt 6 program is sampled' record qt.pftrace qt-world ./qt-world
        gives 'Qt 6: to the end' "$MOST" complete qt.pftrace
        gives 'Qt 6: what paints is called by its main loop' "$NEARLY_ALL" under qt.pftrace \
                'Picture::timerEvent(QTimerEvent*)' '%<QCoreApplication::exec()<main<'
else
        skip_check 'a Qt 6 program is sampled' 'Qt 6 is not installed'
fi

# Go switches stacks to change what runs: its scheduler is below no goroutine that it could be followed to.
cat >go-world.go <<'GO'
package main

import "time"

var sum uint64 = 1

//go:noinline
func spin() {
        begun := time.Now()
        for time.Since(begun) < 600*time.Millisecond {
                for i := uint64(0); i < 100000; i++ {
                        sum = sum*3 + i
                }
        }
}

//go:noinline
func plainly() uint64 {
        spin()
        return sum + 1
}

func main() {
        done := make(chan uint64)
        go func() { done <- plainly() }()
        <-done
}
GO
# go_program NAME PROMISE OPTION REASON
go_program() {
        export GOCACHE=$PWD/go-cache GOTOOLCHAIN=local
        if ! go build "$3" -o "$1" go-world.go 2>/dev/null; then
                skip_check "$2 is sampled" "$4"
                return
        fi
        ok "$2 is sampled" record "$1.pftrace" "$1" ./"$1"
        gives "$2: to the end" "$MOST" complete "$1.pftrace"
        gives "$2: the functions of a goroutine" "$NEARLY_ALL" under "$1.pftrace" main.spin \
                'main.plainly<main.main.func1<runtime.goexit'
}
go_program go-world 'a Go program' -trimpath 'Go is not installed'
# As Go before 1.24 linked all programs.
go_program go-own-world 'one with the build ID of Go alone' -ldflags=-B=none \
        'Go is not installed, or adds no other'
finish
