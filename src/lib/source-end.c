/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The end of data sources that the program has unregistered */

#include "lib/source-private.h"

static dt_source *take_doomed(void) {
        dt_source *source, *found = NULL;

        library_lock();
        list_for_each (source, &library.sources, link)
                if (source->doomed)
                        found = source;
        if (found)
                list_unlink(&found->link);
        library_unlock();
        return found;
}

void sources_remove_doomed(void) {
        dt_source *source;

        while ((source = take_doomed())) {
                dt_instance *instance;
                bool is_orphan;

                list_for_each (instance, &source->instances, source_link)
                        instance_end(instance);
                for (unsigned i = 0; i < library.n_connections; i++)
                        if (source->registered_on & 1u << i)
                                connection_source_removed(library.connections[i], source->name);
                library_lock();
                source->removed = true;
                is_orphan = source->is_orphan;
                pthread_cond_broadcast(&library.removed);
                library_unlock();
                if (is_orphan)
                        source_free(source);
        }
}
