"""Values under which the chart is rendered: its own, as little as can be, and everything, by Ingress and by Gateway."""

from __future__ import annotations

from tests.deploy.chart.helm import Manifest

MINIMAL: Manifest = {
    "otlp": {"enabled": False},
    "web": {"replicas": 1},
    "migration": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "podDisruptionBudget": {"enabled": False},
    "spread": {"enabled": False},
}
EVERYTHING: Manifest = {
    "image": {
        "repository": "registry.example.com/evalsvc",
        "digest": f"sha256:{'0' * 64}",
        "pullSecrets": [{"name": "r"}],
    },
    "secrets": {"optional": ["CELERY_BROKER_URL", "DATABASE_ADMIN_URL", "EVALSVC_METRICS_KEY"]},
    "hosts": ["evals.example.com", "evals.example.org"],
    "settings": {"EVALSVC_RETENTION_DAYS": "90", "EVALSVC_JUDGE_SLOTS": "256"},
    "otlp": {"replicas": 2, "hosts": ["otlp.example.com"]},
    "workers": {name: {"replicas": 2} for name in ("cpu", "judge", "experiments", "system")},
    "ingress": {
        "enabled": True,
        "tlsSecret": "tls",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "512m"},
    },
    "autoscaling": {
        "web": {"enabled": True},
        "queues": {"enabled": True, "prometheusUrl": "http://prometheus.monitoring.svc:9090"},
    },
    "outbound": {"allow": ["10.1.0.0/16", "fd00:1::/64"]},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    "backup": {"enabled": True, "claim": {"storageClass": "standard"}},
    "test": {"keySecret": "evalsvc-test"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
}
BY_GATEWAY: Manifest = EVERYTHING | {
    "ingress": {"enabled": False},
    "gateway": {"enabled": True, "parentRefs": [{"name": "public", "namespace": "gateways", "sectionName": "https"}]},
    "secrets": {
        "optional": ["EVALSVC_METRICS_KEY"],
        "volume": {"csi": {"driver": "secrets-store.csi.k8s.io", "readOnly": True}},
    },
    "settings": {
        "EVALSVC_PUBLIC_URL": "https://evals.example.com",
        "EVALSVC_OIDC_ISSUER": "https://id.example.com",
        "EVALSVC_SMTP_HOST": "mail.internal",
    },
    "networkPolicy": {"mailTo": [{"ipBlock": {"cidr": "10.20.0.9/32"}}]},
    "monitoring": {"enabled": True, "keySecret": "metrics"},
    "backup": {"enabled": True, "claim": {"existing": "backups"}},
}
MATRIX: dict[str, Manifest] = {
    "default": {},
    "minimal": MINIMAL,
    "everything": EVERYTHING,
    "gateway": BY_GATEWAY,
}
