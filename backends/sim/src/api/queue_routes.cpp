// SPDX-License-Identifier: Apache-2.0
// Routes between shared queues (API reference 17-02 and 25-03).
#include <vector>

#include "api/queue.h"

using namespace aclsim;

namespace {

class QueueRoute final : public Object {
  public:
    static constexpr Kind kKind = Kind::QueueRoute;
    explicit QueueRoute(Route made) : route(made) {}
    Route route;
};

class QueueRouteList final : public Object {
  public:
    static constexpr Kind kKind = Kind::QueueRouteList;
    std::vector<Route> routes;
};

class QueueRouteQuery final : public Object {
  public:
    static constexpr Kind kKind = Kind::QueueRouteQuery;
    std::uint32_t mode = 0, source = 0, destination = 0;
    bool has_mode = false, has_source = false, has_destination = false;

    void require_complete() const;
    bool selects(const Route &route) const;
};

void QueueRouteQuery::require_complete() const {
    const bool needs_source = mode == ACL_TDT_QUEUE_ROUTE_QUERY_SRC || mode == ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST;
    const bool needs_destination =
        mode == ACL_TDT_QUEUE_ROUTE_QUERY_DST || mode == ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST;
    const bool is_known = needs_source || needs_destination || mode == ACL_TDT_QUEUE_ROUTE_QUERY_ABNORMAL;
    if (!has_mode || !is_known) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the query has no mode, or one that does not exist");
    }
    if ((needs_source && !has_source) || (needs_destination && !has_destination)) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the query has no source or no destination, which mode %u needs",
                          mode);
    }
}

bool QueueRouteQuery::selects(const Route &route) const {
    switch (mode) {
        case ACL_TDT_QUEUE_ROUTE_QUERY_SRC:
            return route.source == source;
        case ACL_TDT_QUEUE_ROUTE_QUERY_DST:
            return route.destination == destination;
        case ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST:
            return route.source == source && route.destination == destination;
        default:
            return route.status == ACL_TDT_QUEUE_ROUTE_BIND_ABNORMAL;
    }
}

template <class T, class Result, class... Arguments>
Result *create_object(Function function, Arguments... arguments) {
    void *handle = nullptr;
    ungated_entry(function, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const auto object = make_ref<T>(arguments...);
        sim.core.registry().add(object);
        handle = object->handle();
    });
    return static_cast<Result *>(handle);
}

template <class T>
aclError destroy_object(Function function, const void *handle, const char *name) {
    return ungated_entry(function, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(require_object<T>(sim, handle, name));
    });
}

}  // namespace

acltdtQueueRoute *acltdtCreateQueueRoute(uint32_t srcId, uint32_t dstId) {
    return create_object<QueueRoute, acltdtQueueRoute>(Function::acltdtCreateQueueRoute,
                                                       Route{srcId, dstId, ACL_TDT_QUEUE_ROUTE_UNBIND});
}

aclError acltdtDestroyQueueRoute(const acltdtQueueRoute *route) {
    return destroy_object<QueueRoute>(Function::acltdtDestroyQueueRoute, route, "route");
}

aclError acltdtGetQueueRouteParam(const acltdtQueueRoute *route, acltdtQueueRouteParamType type, size_t len,
                                  size_t *paramRetSize, void *param) {
    return ungated_entry(Function::acltdtGetQueueRouteParam, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const Route &found = require_object<QueueRoute>(sim, route, "route").route;
        require(param, "param");
        require(paramRetSize, "paramRetSize");
        static_assert(sizeof found.source == sizeof found.status);
        const void *const values[] = {&found.source, &found.destination, &found.status};
        const auto index = static_cast<std::size_t>(type);
        if (index >= std::size(values)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "a route has no parameter %d", static_cast<int>(type));
        }
        copy_parameter(param, len, values[index], sizeof found.source);
        *paramRetSize = sizeof found.source;
    });
}

acltdtQueueRouteList *acltdtCreateQueueRouteList() {
    return create_object<QueueRouteList, acltdtQueueRouteList>(Function::acltdtCreateQueueRouteList);
}

aclError acltdtDestroyQueueRouteList(const acltdtQueueRouteList *routeList) {
    return destroy_object<QueueRouteList>(Function::acltdtDestroyQueueRouteList, routeList, "routeList");
}

aclError acltdtAddQueueRoute(acltdtQueueRouteList *routeList, const acltdtQueueRoute *route) {
    return ungated_entry(Function::acltdtAddQueueRoute, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        QueueRouteList &list = require_object<QueueRouteList>(sim, routeList, "routeList");
        list.routes.push_back(require_object<QueueRoute>(sim, route, "route").route);
    });
}

aclError acltdtGetQueueRoute(const acltdtQueueRouteList *routeList, size_t index, acltdtQueueRoute *route) {
    return ungated_entry(Function::acltdtGetQueueRoute, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const QueueRouteList &list = require_object<QueueRouteList>(sim, routeList, "routeList");
        QueueRoute &into = require_object<QueueRoute>(sim, route, "route");
        if (index >= list.routes.size()) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "index %zu: the list has %zu routes", index, list.routes.size());
        }
        into.route = list.routes[index];
    });
}

size_t acltdtGetQueueRouteNum(const acltdtQueueRouteList *routeList) {
    std::size_t count = 0;
    ungated_entry(Function::acltdtGetQueueRouteNum, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        count = require_object<QueueRouteList>(sim, routeList, "routeList").routes.size();
    });
    return count;
}

acltdtQueueRouteQueryInfo *acltdtCreateQueueRouteQueryInfo() {
    return create_object<QueueRouteQuery, acltdtQueueRouteQueryInfo>(Function::acltdtCreateQueueRouteQueryInfo);
}

aclError acltdtDestroyQueueRouteQueryInfo(const acltdtQueueRouteQueryInfo *info) {
    return destroy_object<QueueRouteQuery>(Function::acltdtDestroyQueueRouteQueryInfo, info, "info");
}

aclError acltdtSetQueueRouteQueryInfo(acltdtQueueRouteQueryInfo *param, acltdtQueueRouteQueryInfoParamType type,
                                      size_t len, const void *value) {
    return ungated_entry(Function::acltdtSetQueueRouteQueryInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        QueueRouteQuery &query = require_object<QueueRouteQuery>(sim, param, "param");
        require(value, "value");
        struct Field {
            std::uint32_t &value;
            bool &is_set;
        };
        const Field fields[] = {
            {query.mode, query.has_mode}, {query.source, query.has_source}, {query.destination, query.has_destination}};
        const auto index = static_cast<std::size_t>(type);
        if (index >= std::size(fields)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "a query has no parameter %d", static_cast<int>(type));
        }
        copy_parameter(&fields[index].value, sizeof fields[index].value, value, len);
        fields[index].is_set = true;
    });
}

aclError acltdtBindQueueRoutes(acltdtQueueRouteList *qRouteList) {
    return entry(Function::acltdtBindQueueRoutes, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        QueueRouteList &list = require_object<QueueRouteList>(sim, qRouteList, "qRouteList");
        require_current_device(sim);
        if (!sim.queues.bind(list.routes)) {
            fail_unremembered(ACL_ERROR_FAILURE,
                              "a route names a queue that does not exist, or would form a cycle; the status of each "
                              "route in the list is 1 if it is bound");
        }
    });
}

aclError acltdtUnbindQueueRoutes(acltdtQueueRouteList *qRouteList) {
    return entry(Function::acltdtUnbindQueueRoutes, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        QueueRouteList &list = require_object<QueueRouteList>(sim, qRouteList, "qRouteList");
        require_current_device(sim);
        sim.queues.unbind(list.routes);
    });
}

aclError acltdtQueryQueueRoutes(const acltdtQueueRouteQueryInfo *queryInfo, acltdtQueueRouteList *qRouteList) {
    return entry(Function::acltdtQueryQueueRoutes, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        QueueRouteList &list = require_object<QueueRouteList>(sim, qRouteList, "qRouteList");
        const QueueRouteQuery &query = require_object<QueueRouteQuery>(sim, queryInfo, "queryInfo");
        list.routes.clear();
        query.require_complete();
        require_current_device(sim);
        for (const Route &route : sim.queues.routes()) {
            if (query.selects(route)) {
                list.routes.push_back(route);
            }
        }
    });
}
