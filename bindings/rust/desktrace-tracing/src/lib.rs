// SPDX-License-Identifier: LGPL-2.1-or-later

//! Spans and events of the `tracing` crate as trace events for Desktrace.
//!
//! ```no_run
//! use tracing_subscriber::layer::SubscriberExt;
//! use tracing_core::dispatcher::{set_global_default, Dispatch};
//!
//! desktrace::init().ok();
//! let registry = tracing_subscriber::registry().with(desktrace_tracing::layer());
//! set_global_default(Dispatch::new(registry)).ok();
//! ```
//!
//! A target is a category. A span is a slice of the thread that enters it, each time that it is entered, as the polls of
//! a future do; what it is given after that is shown when it is left. An event is an instant, and a line of the log.
//! Levels below INFO have the tag "debug", so a session records them only if it names the category.

use desktrace::{Arg, Category, Priority, Slice};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::RwLock;
use tracing_core::callsite::Identifier;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

thread_local! {
    /// The slices of the spans that this thread is in.
    static ENTERED: RefCell<Vec<(Id, Slice<'static>)>> = RefCell::new(Vec::new());
}

/// What records; see [`layer`].
#[derive(Default)]
pub struct DesktraceLayer {
    categories: RwLock<HashMap<Identifier, &'static Category>>,
}

/// A layer for any registry of `tracing-subscriber`, beside others.
pub fn layer() -> DesktraceLayer {
    DesktraceLayer::default()
}

impl DesktraceLayer {
    /// By callsite, as the target of one never changes. A poisoned lock costs only the look-up.
    fn category(&self, metadata: &'static Metadata<'static>) -> &'static Category {
        let callsite = metadata.callsite();

        if let Ok(categories) = self.categories.read() {
            if let Some(category) = categories.get(&callsite) {
                return category;
            }
        }
        let category = find_category(metadata);
        if let Ok(mut categories) = self.categories.write() {
            categories.insert(callsite, category);
        }
        category
    }
}

fn find_category(metadata: &Metadata<'_>) -> &'static Category {
    let target = metadata.target();

    if *metadata.level() > Level::INFO {
        Category::find_or_add(&format!("{target}:debug"), Some("Of the tracing crate"), Some("debug"))
    } else {
        Category::find_or_add(target, Some("Of the tracing crate"), None)
    }
}

fn priority(level: &Level) -> Priority {
    match *level {
        Level::ERROR => Priority::Error,
        Level::WARN => Priority::Warning,
        Level::INFO => Priority::Info,
        Level::DEBUG => Priority::Debug,
        _ => Priority::Verbose,
    }
}

enum Owned {
    Int(i64),
    Uint(u64),
    Double(f64),
    Bool(bool),
    Text(String),
}

/// Fields, with copies of their texts.
#[derive(Default)]
struct Fields {
    list: Vec<(&'static str, Owned)>,
}

impl Fields {
    fn args(&self) -> Vec<Arg<'_>> {
        fn arg<'a>((name, owned): &'a (&'static str, Owned)) -> Arg<'a> {
            match owned {
                Owned::Int(value) => Arg::new(name, *value),
                Owned::Uint(value) => Arg::new(name, *value),
                Owned::Double(value) => Arg::new(name, *value),
                Owned::Bool(value) => Arg::new(name, *value),
                Owned::Text(text) => Arg::new(name, text.as_str()),
            }
        }

        self.list.iter().map(arg).collect()
    }

    fn message(&self) -> &str {
        self.list
            .iter()
            .find_map(|(name, owned)| match owned {
                Owned::Text(text) if *name == "message" => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or("")
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.list.push((field.name(), Owned::Int(value)));
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.list.push((field.name(), Owned::Uint(value)));
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.list.push((field.name(), Owned::Double(value)));
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.list.push((field.name(), Owned::Bool(value)));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.list.push((field.name(), Owned::Text(value.to_string())));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.list.push((field.name(), Owned::Text(format!("{value:?}"))));
    }
}

/// What a span was given since it was entered last.
struct Late(Fields);

impl<S> Layer<S> for DesktraceLayer
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !desktrace::is_recording() {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().replace(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if !desktrace::is_recording() {
            return;
        }
        if let Some(span) = context.span(id) {
            let mut extensions = span.extensions_mut();
            if extensions.get_mut::<Late>().is_none() {
                extensions.insert(Late(Fields::default()));
            }
            if let Some(late) = extensions.get_mut::<Late>() {
                values.record(&mut late.0);
            }
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let slice = context.span(id).map_or_else(Slice::none, |span| {
            let category = self.category(span.metadata());
            if !category.is_enabled() {
                return Slice::none();
            }
            let extensions = span.extensions();
            let args = extensions.get::<Fields>().map(Fields::args).unwrap_or_default();
            Slice::begin(category, None, span.name(), &args)
        });
        // A thread that ends has no list any more; then the slice ends at once.
        let _ = ENTERED.try_with(|entered| {
            if let Ok(mut entered) = entered.try_borrow_mut() {
                entered.push((id.clone(), slice));
            }
        });
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let slice = ENTERED.try_with(|entered| {
            let mut entered = entered.try_borrow_mut().ok()?;
            let at = entered.iter().rposition(|(other, _)| other == id)?;
            Some(entered.remove(at).1)
        });
        if let Ok(Some(slice)) = slice {
            let late = context.span(id).and_then(|span| span.extensions_mut().remove::<Late>());
            slice.end(&late.as_ref().map(|late| late.0.args()).unwrap_or_default());
        }
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        let category = self.category(metadata);

        if !category.is_enabled() {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let place = format!("{}:{}", metadata.file().unwrap_or(""), metadata.line().unwrap_or(0));
        let mut args = vec![Arg::log(priority(metadata.level()), fields.message())];
        if metadata.file().is_some() {
            args.push(Arg::location(&place, metadata.module_path().unwrap_or("")));
        }
        args.extend(fields.args());
        desktrace::instant(category, None, metadata.target(), &args);
    }
}
