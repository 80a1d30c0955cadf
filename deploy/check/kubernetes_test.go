package check

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// manifests are what kubectl apply -k makes of deploy/kubernetes with new keys.
type manifests struct {
	folder  string
	service *core.Service
	set     *apps.StatefulSet
	cluster *core.ConfigMap
	keys    *core.Secret
}

// build builds the manifests, and decodes them strictly into the types of k8s.io/api.
func build(t *testing.T) *manifests {
	t.Helper()
	m := &manifests{folder: t.TempDir()}
	if err := os.CopyFS(m.folder, os.DirFS("../kubernetes")); err != nil {
		t.Fatal(err)
	}
	run(t, "cluster", "new", "--nodes", "site-0=site-0.difalt:7001,site-1=site-1.difalt:7001,site-2=site-2.difalt:7001",
		"--graph", "ring", "--out", filepath.Join(m.folder, "keys"))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), m.folder)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, apps.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		switch o := object.(type) {
		case *core.Service:
			m.service = o
		case *apps.StatefulSet:
			m.set = o
		case *core.ConfigMap:
			m.cluster = o
		case *core.Secret:
			m.keys = o
		default:
			t.Errorf("an object of type %T", object)
		}
	}
	if m.service == nil || m.set == nil || m.cluster == nil || m.keys == nil {
		t.Fatal("not all of Service, StatefulSet, ConfigMap and Secret")
	}
	return m
}

// TestKubernetes: names in the manifests refer to what there is, pods are as closed as
// they can be, and their commands train on this machine.
func TestKubernetes(t *testing.T) {
	m := build(t)
	pod, s := m.set.Spec.Template, m.service.Spec
	if m.set.Spec.ServiceName != m.service.Name || s.ClusterIP != "None" || !s.PublishNotReadyAddresses {
		t.Error("pods get no names, or not before they are ready")
	}
	selector, err := metav1.LabelSelectorAsSelector(m.set.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(pod.Labels)) || len(s.Selector) == 0 || !labels.SelectorFromSet(s.Selector).Matches(labels.Set(pod.Labels)) {
		t.Errorf("the pods are not those of set and service: %v", err)
	}
	if m.set.Spec.PodManagementPolicy != apps.ParallelPodManagement {
		t.Error("the first pod would wait for ever to be ready")
	}
	node := pod.Spec.Containers[0]
	security, all := node.SecurityContext, pod.Spec.SecurityContext
	if !*all.RunAsNonRoot || *all.RunAsUser == 0 || !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation || !slices.Contains(security.Capabilities.Drop, "ALL") {
		t.Error("a pod may do more than it needs")
	}
	ports := map[string]string{}
	for _, p := range node.Ports {
		ports[p.Name] = ":" + strconv.Itoa(int(p.ContainerPort))
	}
	for port, flag := range map[string]string{"grpc": "--listen=", "metrics": "--metrics="} {
		if !slices.Contains(node.Args, flag+ports[port]) {
			t.Errorf("port %s is %s, but the arguments are %q", port, ports[port], node.Args)
		}
	}
	if s.Ports[0].TargetPort.StrVal != "grpc" || !strings.Contains(m.cluster.Data["cluster.json"], "site-0."+m.service.Name+":"+strconv.Itoa(int(s.Ports[0].Port))) {
		t.Errorf("the service has port %+v", s.Ports)
	}
	for _, p := range []*core.Probe{node.StartupProbe, node.LivenessProbe} {
		if p.HTTPGet.Port.StrVal != "metrics" || p.HTTPGet.Path != "/healthz" {
			t.Errorf("a probe asks %+v", p.HTTPGet)
		}
	}
	mode := *volume(t, pod.Spec, "keys").Secret.DefaultMode
	if mode != 0o440 || all.FSGroup == nil {
		t.Errorf("keys have mode %#o", mode)
	}
	rehearse(t, filepath.Join(m.folder, "cluster.json"), m.pods(t))
}

func volume(t *testing.T, pod core.PodSpec, name string) core.Volume {
	t.Helper()
	k := slices.IndexFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == name })
	if k < 0 {
		t.Fatalf("no volume %q", name)
	}
	return pod.Volumes[k]
}

// pods returns the containers of the pods, with what is mounted in files of a folder.
func (m *manifests) pods(t *testing.T) (list []*container) {
	t.Helper()
	spec := m.set.Spec.Template.Spec
	node := spec.Containers[0]
	if volume(t, spec, "cluster").ConfigMap.Name != m.cluster.Name || volume(t, spec, "keys").Secret.SecretName != m.keys.Name {
		t.Error("a volume is of something that is not there")
	}
	for i := range int(*m.set.Spec.Replicas) {
		name := m.set.Name + "-" + strconv.Itoa(i)
		c := &container{name: name, args: node.Args, mounts: map[string]string{}}
		if node.ReadinessProbe.Exec.Command[0] != "/usr/local/bin/difalt" {
			t.Errorf("the image has no %s", node.ReadinessProbe.Exec.Command[0])
		}
		c.health = node.ReadinessProbe.Exec.Command[1:]
		for _, mount := range node.VolumeMounts {
			path := filepath.Join(m.folder, name)
			switch mount.Name {
			case "cluster":
				path = m.write(t, mount.SubPath, []byte(m.cluster.Data[mount.SubPath]))
			case "keys":
				file := strings.ReplaceAll(mount.SubPathExpr, "$(POD_NAME)", name)
				path = m.write(t, file, m.keys.Data[file])
			case m.set.Spec.VolumeClaimTemplates[0].Name:
				if err := os.Mkdir(path, 0o777); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("nothing called %q is mounted", mount.Name)
			}
			c.mounts[mount.MountPath] = path
		}
		list = append(list, c)
	}
	return list
}

// write writes what a volume has under a name.
func (m *manifests) write(t *testing.T, name string, text []byte) string {
	t.Helper()
	if len(bytes.TrimSpace(text)) == 0 {
		t.Fatalf("nothing is called %q", name)
	}
	path := filepath.Join(m.folder, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
